"""What a generated STEP file can do to its score: nothing but be invalid, or be scored as what it holds."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from cad.steps import bomb, box, made, short

from casemate import Host, Verdict
from casemate.control.scoring import Settings

SETTINGS = Settings(points=200, seed=1, normalise="none", align="none")
CUBE = box(10, 10, 10)
PLATE = "cq.Workplane().box(40, 40, 5).faces('>Z').workplane().rarray(10, 10, 3, 3).hole(3)"
SHELL = "cq.Workplane().box(1, 1, 1).faces('>Z').val()"


@pytest.mark.parametrize(
    "harm",
    [
        lambda step: b"",
        lambda step: b"\x00\xff" * 5000,
        lambda step: step[: len(step) // 2],
        lambda step: re.sub(rb"(CLOSED_SHELL\('',\()#\d+,", rb"\1", step),
        lambda step: step.replace(b"5.,", b"NaN,"),
        lambda step: step.replace(b"(", b"(" * 2000),
    ],
    ids=["empty", "noise", "half", "a face missing", "not a number", "nested"],
)
def test_a_broken_file_is_invalid_and_the_reference_is_not_blamed(
    harm: Callable[[bytes], bytes], host: Host, profile: str, tmp_path: Path
) -> None:
    cube = made(host, CUBE)
    assert harm(cube) != cube
    found = host.compare([harm(cube)], cube, SETTINGS, short(tmp_path, profile, step=3.0))
    assert (found.fault, found.distances, found.overlap) == ("generated", None, None)
    assert found.verdict in set(Verdict) - {Verdict.PART}
    assert found.message
    assert found.reference is not None
    assert found.reference.volume == pytest.approx(1000)


def test_twin_the_same_file_unharmed_is_valid(host: Host, profile: str) -> None:
    cube = made(host, CUBE)
    assert host.compare([cube], cube, SETTINGS, profile).fault == ""


def test_a_broken_reference_is_the_references_fault(host: Host, profile: str) -> None:
    found = host.compare([made(host, CUBE)], b"", SETTINGS, profile)
    assert (found.fault, found.reference) == ("reference", None)


def test_a_shell_without_a_solid_is_no_part(host: Host, profile: str) -> None:
    cube, shell = made(host, CUBE), made(host, SHELL)
    found = host.compare([shell], cube, SETTINGS, profile)
    assert (found.fault, found.verdict) == ("generated", Verdict.NO_SOLID)
    assert host.compare([cube], shell, SETTINGS, profile).fault == "reference"


def test_a_dimension_beyond_all_bounds_is_not_scored(host: Host, profile: str, tmp_path: Path) -> None:
    cube = made(host, CUBE)
    found = host.compare([cube.replace(b"5.", b"1.E400")], cube, SETTINGS, short(tmp_path, profile, step=3.0))
    assert (found.fault, found.distances) == ("generated", None)


def test_a_bomb_of_parts_within_parts_ends_in_its_own_time(host: Host, profile: str, tmp_path: Path) -> None:
    cube = made(host, CUBE)
    assert len(bomb(cube, 26)) < 30_000
    found = host.compare([bomb(cube, 26)], cube, SETTINGS, short(tmp_path, profile, step=3.0))
    assert (found.fault, found.verdict) == ("generated", Verdict.INSPECTOR_FAILED)
    assert "in stage generated" in found.message


def test_twin_a_small_bomb_is_as_many_parts(host: Host, profile: str) -> None:
    cube = made(host, CUBE)
    found = host.compare([bomb(cube, 2)], cube, SETTINGS, profile)
    assert found.generated is not None
    assert found.generated.volume == pytest.approx(4000)
    assert found.overlap is not None
    assert found.overlap.iou == pytest.approx(1 / 4)


def test_a_boolean_that_does_not_end_is_ended_and_estimated(host: Host, profile: str, tmp_path: Path) -> None:
    plate, moved = made(host, PLATE), made(host, f"{PLATE}.rotate((0, 0, 0), (0, 0, 1), 7)")
    exact = host.compare([moved], plate, SETTINGS, profile).overlap
    found = host.compare([moved], plate, SETTINGS, short(tmp_path, profile, facts=0.01))
    assert exact is not None
    assert exact.method == "boolean"
    assert found.fault == ""
    assert found.distances is not None
    assert found.overlap is not None
    assert found.overlap.method == "sampled"
    assert "boolean" in found.overlap.message
    assert found.overlap.samples > 20_000
    assert abs(found.overlap.iou - exact.iou) < 3 * found.overlap.error < 0.02


def test_too_many_solids_for_booleans_are_estimated(host: Host, profile: str) -> None:
    cube = made(host, CUBE)
    found = host.compare([bomb(cube, 5)], bomb(cube, 4), SETTINGS, profile).overlap
    assert found is not None
    assert found.method == "sampled"
    assert "pairs of solids" in found.message
    assert abs(found.iou - 1 / 2) < 4 * found.error
