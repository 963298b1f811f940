"""Two profiles: every row that differs, and on which side the boundary is tighter."""

from __future__ import annotations

import pytest
from policy.written import FILES, NAMES, edited, load, text_of

from casemate.policy import diff
from casemate.policy.diff import FEWER, MORE, ORDER, OTHER
from casemate.policy.rows import names

CALLS = {"cad": frozenset({"read", "write"}), "smaller": frozenset({"read"}), "other": frozenset({"open"})}


def test_each_row_is_compared_in_one_way() -> None:
    groups = [frozenset(ORDER), FEWER, MORE, OTHER]
    assert sum(map(len, groups)) == len(frozenset().union(*groups))
    numbers = [row for row in names() if not any(row in group for group in groups)]
    timed = ("limits.", "stages.", "lifecycle.time_to_live", "preview.lifetime")
    assert [row for row in numbers if not row.startswith(timed)] == []
    assert frozenset().union(*groups) <= set(names())


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_profile_does_not_differ_from_itself(file: object) -> None:
    profile = load(file.read_text("utf-8"))  # type: ignore[attr-defined]
    assert diff(profile, profile, CALLS) == ()


@pytest.mark.parametrize(
    ("row", "value", "second_is"),
    [
        ("limits.memory", 1 << 30, "tighter"), ("limits.memory", 1 << 32, "looser"), ("stages.gate", 1.0, "tighter"),
        ("stages.step", 60.0, "looser"), ("lifecycle.time_to_live", 60.0, "tighter"),
        ("limits.output_overflow", "kill", "tighter"), ("gate.rules", "cad-minimal", "tighter"),
        ("devices.pty", True, "looser"), ("proc.view", "masked", "looser"), ("kernel.syscalls", "smaller", "tighter"),
        ("kernel.syscalls", "strict", "different"), ("profile.version", 9, "different"),
        ("environment.variables", ["A=b"], "looser"), ("layers.not_held", ["limits.data: much"], "looser"),
    ],
)  # fmt: skip
def test_one_row_is_all_that_differs(row: str, value: object, second_is: str) -> None:
    first, second = load(text_of("cad")), load(edited(row, value))
    [found] = diff(first, second, CALLS)
    assert (found.row, found.second_is) == (row, second_is)
    assert found.first == first.value(row)
    [back] = diff(second, first, CALLS)
    opposite = {"tighter": "looser", "looser": "tighter", "different": "different"}
    assert (back.second_is, back.first, back.second) == (opposite[second_is], found.second, found.first)


@pytest.mark.parametrize(
    ("row", "value", "second_is"),
    [("filesystem.writable", ["/tmp"], "looser"), ("filesystem.image", "cad", "different")],
)
def test_rows_that_only_a_plain_program_can_have_otherwise(row: str, value: object, second_is: str) -> None:
    text = text_of("strict")
    [found] = diff(load(text), load(edited(row, value, text)), CALLS)
    assert (found.row, found.second_is) == (row, second_is)


def test_sets_of_calls_that_only_overlap_are_different() -> None:
    [found] = diff(
        load(text_of("cad")), load(edited("kernel.syscalls", "smaller")), {**CALLS, "smaller": CALLS["other"]}
    )
    assert found.second_is == "different"
    assert "smaller" in NAMES.syscalls


def test_what_lacks_the_controllers_is_looser() -> None:
    found = {d.row: d.second_is for d in diff(load(text_of("cad")), load(text_of("cad-rlimit")), CALLS)}
    assert found["layers.required"] == found["layers.permitted_degraded"] == found["layers.not_held"] == "looser"
    assert found["limits.data"] == "tighter"
