"""Pairs through the library: scripts and files, and what ends in the middle."""

from __future__ import annotations

from pathlib import Path

import pytest
from cad.steps import box, made, short

from casemate import Denied, Host
from casemate.cad.pairs import Item, Pair
from casemate.cad.protocols import PROTOCOLS
from casemate.cad.score import Score, score

CUBE = "import cadquery as cq\nresult = cq.Workplane().box(10, 10, 10)\n"
HALVES = """\
import cadquery as cq
show_object(cq.Workplane().box(5, 10, 10).translate((-2.5, 0, 0)), name="left")
show_object(cq.Workplane().box(5, 10, 10).translate((2.5, 0, 0)), name="right")
show_object(cq.Workplane().rect(50, 50), name="sketch")
"""
SETTINGS = PROTOCOLS["cad-recode"].settings(points=100, normalise="none")


def pair(name: str, generated: str | None, reference: str = CUBE) -> Pair:
    return Pair(name, Item(name, source=reference), None if generated is None else Item(name, source=generated))


def test_the_parts_of_a_script_are_taken_together(host: Host, profile: str) -> None:
    found = score(host, [pair("1", HALVES), pair("2", None), pair("3", CUBE)], settings=SETTINGS, profile=profile)
    assert [(one.id, one.state, one.reason) for one in found.scores] == [
        ("1", "valid", ""), ("2", "invalid", "missing"), ("3", "valid", ""),
    ]  # fmt: skip
    assert found.scores[0].iou == pytest.approx(1)
    assert (found.scores[0].volume_error, found.scores[0].box_error) == (pytest.approx(0), pytest.approx(0))


def test_errors_of_volume_and_box_are_of_the_shapes_as_they_are(host: Host, profile: str) -> None:
    other = CUBE.replace("10, 10, 10", "10, 15, 8")
    [one] = score(host, [pair("1", other)], profile=profile).scores
    assert one.volume_error == pytest.approx(0.2)
    assert one.box_error == pytest.approx(0.5)
    assert one.iou is not None
    assert one.iou < 1


def test_a_reference_in_several_parts_has_no_score(host: Host, profile: str) -> None:
    found = score(host, [pair("1", CUBE, HALVES)], settings=SETTINGS, profile=profile)
    assert (found.scores[0].state, found.scores[0].reason) == ("unscored", "reference")
    assert found.overall.validity_rate is None


def test_a_file_beyond_the_bounds_is_invalid_and_not_read_whole(host: Host, profile: str, tmp_path: Path) -> None:
    cube, large = tmp_path / "cube.step", tmp_path / "large.step"
    cube.write_bytes(made(host, box(10, 10, 10)))
    with large.open("wb") as file:
        file.truncate(1 << 40)
    pairs = [Pair("1", Item("1", step=cube), Item("1", step=large)), Pair("2", Item("2", step=cube), None)]
    found = score(host, pairs, settings=SETTINGS, profile=profile)
    assert [one.reason for one in found.scores] == ["unreadable", "missing"]
    tight = short(tmp_path, profile, upload_bytes=cube.stat().st_size + 5000)
    pairs = [Pair("1", Item("1", step=cube), Item("1", step=cube))]
    found = score(host, pairs, settings=SETTINGS, profile=tight)
    assert (found.scores[0].reason, found.scores[0].message) == ("unreadable", "too many bytes for one sandbox")


def test_an_end_in_the_middle_kills_what_runs(host: Host, profile: str, tmp_path: Path) -> None:
    """The script would go on for longer than this test may take."""
    patient = short(tmp_path, profile, wall_time=600.0, cpu_time=600.0, time_to_live=700.0)

    def stop(_: Score) -> None:
        raise KeyboardInterrupt

    pairs = [pair("1", CUBE), pair("2", "while True:\n    pass\n")]
    with pytest.raises(KeyboardInterrupt):
        score(host, pairs, settings=SETTINGS, profile=patient, jobs=2, progress=stop)


def test_a_profile_for_programs_is_denied(host: Host) -> None:
    with pytest.raises(Denied, match="CAD profile"):
        score(host, [pair("1", CUBE)], profile="python-rlimit")


def test_a_reference_that_is_not_there_is_the_callers_error(host: Host, profile: str, tmp_path: Path) -> None:
    gone = Pair("1", Item("1", step=tmp_path / "gone.step"), Item("1", source=CUBE))
    with pytest.raises(FileNotFoundError):
        score(host, [gone], settings=SETTINGS, profile=profile)
