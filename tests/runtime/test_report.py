"""What a guest reports is parsed strictly: every byte of it may be an attacker's."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from runtime.records import BARE, DENIED, END, ERROR, EVERY, GATE, HANDOVER, NOTICE, PART, START, record

from casemate.model import Verdict
from casemate.runtime import report


def parse(*values: object) -> report.Report:
    return report.parse(b"".join(record(value) for value in values))


def changed(value: dict[str, Any], *path: Any, to: Any) -> dict[str, Any]:
    found = copy.deepcopy(value)
    holder: Any = found
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = to
    return found


@pytest.mark.parametrize("value", EVERY, ids=lambda value: value["kind"])
def test_each_kind_is_understood(value: dict[str, Any]) -> None:
    told = parse(value)
    assert told.damaged == ""
    [found] = told.records
    assert json.loads(found.model_dump_json(exclude_unset=True)) == value


def test_what_is_told_in_order() -> None:
    second = {**END, "name": "handover", "seconds": 0.25}
    told = parse(GATE, START, END, {**START, "name": "handover"}, second, NOTICE, HANDOVER)
    assert told.damaged == ""
    assert told.stages == (("gate", 0.012), ("script", 1.5), ("handover", 0.25))
    assert told.unfinished == ""
    assert [notice.code for notice in told.notices] == ["guessed"]
    assert told.handover is not None
    assert told.handover.parts[0].files[0].file == "0-0.brep"
    assert (told.error, told.no_parts, told.parts) == (None, None, ())


def test_the_stage_that_was_going_on() -> None:
    assert parse(GATE, START).unfinished == "script"
    assert parse(GATE).unfinished == ""
    assert parse().records == ()


def test_the_first_gate_record_stands() -> None:
    told = parse(DENIED, GATE, GATE)
    assert told.gate is not None
    assert not told.gate.admitted
    assert told.gate.denials[0].name == "os"


def test_a_gate_record_that_is_not_the_first_is_no_verdict() -> None:
    assert parse(START, GATE).gate is None
    assert parse(NOTICE, DENIED).gate is None


def test_the_first_exception_counts_and_a_second_hand_over_voids_both() -> None:
    told = parse(GATE, ERROR, {**ERROR, "type": "Forged"})
    assert told.error is not None
    assert told.error.type == "ValueError"
    assert parse(GATE, HANDOVER, HANDOVER).handover is None


@pytest.mark.parametrize("value", EVERY, ids=lambda value: value["kind"])
def test_unknown_and_missing_members_are_refused(value: dict[str, Any]) -> None:
    told = parse(GATE, {**value, "surplus": 1}, GATE)
    assert len(told.records) == 1
    assert told.damaged.startswith("record 1")
    for name in value:
        if name not in ("omitted", "line", "seconds") or (value["kind"] == "gate" and name == "seconds"):
            cut = {key: item for key, item in value.items() if key != name}
            assert parse(cut).damaged, name


@pytest.mark.parametrize(
    "value",
    [
        changed(DENIED, "denials", 0, "surplus", to=1),
        changed(DENIED, "notices", 0, "surplus", to=1),
        changed(HANDOVER, "parts", 0, "surplus", to=1),
        changed(HANDOVER, "parts", 0, "files", 0, "surplus", to=1),
        changed(PART, "facts", "surplus", to=1),
        changed(PART, "facts", "solids", to="1"),
        changed(PART, "facts", "solids", to=True),
        changed(PART, "facts", "solids", to=1.0),
        changed(PART, "facts", "volume", to="6000"),
        changed(PART, "facts", "valid", to=1),
        changed(PART, "facts", "valid", to="yes"),
        changed(PART, "facts", "bounding_box", to=[0, 0, 0, 1, 1]),
        changed(PART, "facts", "center_of_mass", to=[0, 0, 0, 0]),
        changed(PART, "verdict", to="excellent"),
        changed(GATE, "admitted", to="true"),
        changed(GATE, "admitted", to=1),
        changed(GATE, "seconds", to=-1),
        changed(GATE, "seconds", to="1"),
        changed(END, "seconds", to=1e300),
        changed(END, "name", to="launch"),
        changed(ERROR, "line", to=-1),
        changed(ERROR, "line", to=1 << 40),
        changed(GATE, "kind", to="other"),
        changed(GATE, "kind", to=None),
        changed(HANDOVER, "parts", to=[]),
        changed(HANDOVER, "parts", 0, "files", to=[]),
        [], "text", 7, None, [GATE],
    ],
    ids=repr,
)  # fmt: skip
def test_another_type_or_value_is_refused(value: object) -> None:
    assert parse(value).damaged.startswith("record 0")


@pytest.mark.parametrize(
    "name",
    ["../x.brep", "/etc/passwd", "0-0.brep/..", "0-0.brep\n", "a.brep", "0-0.BREP", "", "0-0.brep\0", "00000-1.brep"],
)
def test_a_file_to_collect_has_one_of_our_names(name: str) -> None:
    assert parse(changed(HANDOVER, "parts", 0, "files", 0, "file", to=name)).damaged


@pytest.mark.parametrize("name", ["../x", "a/b", ".hidden", "", "x" * 65, "é", "a\n", "a b", "-x"])
def test_a_part_has_a_name_that_is_safe_as_a_file(name: str) -> None:
    assert parse(changed(HANDOVER, "parts", 0, "name", to=name)).damaged
    assert parse(changed(PART, "name", to=name)).damaged
    assert parse(changed(PART, "file", to=f"{name}.step")).damaged


@pytest.mark.parametrize("token", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1" + "0" * 400, "9" * 5000])
@pytest.mark.parametrize(
    ("value", "number"),
    [(GATE, "0.012"), (END, "1.5"), (PART, "6000.0"), (PART, "2200.0"), (PART, "10.5")],
    ids=["gate", "stage", "volume", "area", "box"],
)
def test_a_number_that_is_not_finite_is_refused(value: dict[str, Any], number: str, token: str) -> None:
    text = json.dumps(value)
    assert text.count(number) == 1
    assert parse(text.replace(number, token).encode()).damaged


@pytest.mark.parametrize("name", ["solids", "shells", "faces", "edges"])
def test_a_count_is_no_huge_number(name: str) -> None:
    assert parse(json.dumps(PART).replace(f'"{name}": ', f'"{name}": {"9" * 4999}').encode()).damaged


@pytest.mark.parametrize(
    "body",
    [
        b"{", b"\xff\xfe", b"{}", b"[" * 60_000, b'{"kind":' * 8_000, json.dumps(GATE).encode() + b" x",
        b'{"kind": "notice", "code": "\\ud800", "message": ""}', json.dumps(GATE).encode("utf-16"),
        b'{"kind": "notice", "code": "", "message": ' + b"[" * 30_000 + b"]" * 30_000 + b"}",
    ],
)  # fmt: skip
def test_what_is_no_record_stops_the_parser(body: bytes) -> None:
    told = parse(GATE, body, NOTICE)
    assert len(told.records) == 1
    assert told.damaged.startswith("record 1")
    assert len(told.damaged) < 1000


@pytest.mark.parametrize(
    "tail",
    [
        b"\0", b"\0\0\0", b"\0\0\0\0", b"\0\0\0\x05{}", b"\xff\xff\xff\xff{}", record(NOTICE)[:-1],
        (report.MAX_RECORD + 1).to_bytes(4, "big") + b" " * (report.MAX_RECORD + 1),
    ],
)  # fmt: skip
def test_a_wrong_length_stops_the_parser(tail: bytes) -> None:
    told = report.parse(record(GATE) + tail)
    assert len(told.records) == 1
    assert told.damaged.startswith("record 1")


def test_the_largest_record_fits() -> None:
    body = json.dumps({**NOTICE, "message": ""})
    full = json.dumps({**NOTICE, "message": "x" * (64 * 1024 - len(body))}).encode()
    assert len(full) == 64 * 1024
    assert parse(full).damaged == ""


def test_ten_thousand_records_and_no_more() -> None:
    told = report.parse(record(NOTICE) * 10_000)
    assert (len(told.records), told.damaged) == (10_000, "")
    told = report.parse(record(NOTICE) * 10_001)
    assert len(told.records) == 10_000
    assert told.damaged


def test_verdicts_are_the_models() -> None:
    [part] = parse({**BARE, "verdict": "not_finite"}).parts
    assert part.verdict is Verdict.NOT_FINITE
