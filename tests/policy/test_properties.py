"""Any single row of any shipped profile taken out, added or zeroed is refused, with its file and its line."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from policy.written import FILES, faults, load

from casemate.errors import Fault, PolicyError

relaxed = settings(deadline=None)

TEXTS = {file.stem: file.read_text("utf-8").split("\n") for file in FILES}
WORD = st.from_regex(r"[a-z][a-z_]{0,20}", fullmatch=True)


def rows_of(lines: list[str]) -> list[tuple[str, int, int]]:
    """Each row's name, its first line and the one after its last, counted from 0."""
    found, table = [], ""
    for number, line in enumerate(lines):
        if line.startswith("["):
            table = line.strip("[]")
        elif line[:1].isalpha():
            end = number + 1
            while end < len(lines) and lines[end][:1] in (" ", "]"):
                end += 1
            found.append((f"{table}.{line.split(' = ')[0]}", number, end))
    return found


ROWS = [(name, *row) for name, lines in TEXTS.items() for row in rows_of(lines)]
LIMITS = [row for row in ROWS if row[1].startswith("limits.") and row[1] != "limits.output_overflow"]


def test_the_rows_are_all_of_them() -> None:
    for name, lines in TEXTS.items():
        tables = tomllib.loads("\n".join(lines))
        assert [row for profile, row, _, _ in ROWS if profile == name] == [
            f"{t}.{k}" for t in tables for k in tables[t]
        ]


@relaxed
@given(st.sampled_from(ROWS))
def test_without_any_single_row(row: tuple[str, str, int, int]) -> None:
    profile, name, first, end = row
    lines = TEXTS[profile][:first] + TEXTS[profile][end:]
    [fault] = faults("\n".join(lines))
    assert (fault.row, fault.message) == (name, "the row is missing")
    assert lines[fault.line - 1] == f"[{name.partition('.')[0]}]"


@relaxed
@given(st.sampled_from(ROWS), WORD, st.sampled_from(["1", "1.5", "true", '"text"', "[]", "{}", "[{}]"]))
def test_with_any_unknown_row(row: tuple[str, str, int, int], word: str, value: str) -> None:
    profile, name, first, _ = row
    table = name.partition(".")[0]
    if f"{table}.{word}" in {known for _, known, _, _ in ROWS}:
        return
    lines = [*TEXTS[profile][:first], f"{word} = {value}", *TEXTS[profile][first:]]
    [fault] = faults("\n".join(lines))
    assert (fault.row, fault.line, fault.message) == (f"{table}.{word}", first + 1, "there is no such row")


@relaxed
@given(st.sampled_from(sorted(TEXTS)), WORD, st.sampled_from(["[{}]\nx = 1", "[{}]", "[[{}]]\nx = 1", "[{}.x]"]))
def test_with_any_unknown_table(profile: str, word: str, table: str) -> None:
    if f"[{word}]" in TEXTS[profile]:
        return
    lines = [*TEXTS[profile], *table.replace("{}", word).split("\n")]
    [fault] = faults("\n".join(lines))
    assert (fault.row, fault.message) == (word, "there is no such table")
    assert fault.line == len(TEXTS[profile]) + 1


@relaxed
@given(
    st.sampled_from([row for row in LIMITS if row[1] != "limits.sockets"]), st.sampled_from(["0", "0.0", "-0.0", "-1"])
)
def test_with_any_limit_zero(row: tuple[str, str, int, int], zero: str) -> None:
    profile, name, first, _ = row
    lines = list(TEXTS[profile])
    lines[first] = f"{name.partition('.')[2]} = {zero}"
    found = {(fault.row, fault.line) for fault in faults("\n".join(lines))}
    assert found == {(name, first + 1)}


@relaxed
@given(st.text(max_size=200))
@example("[limits]\nmemory = ")
@example("profile = 1")
@example('[profile]\nname.x = "y"')
def test_any_text_is_refused_as_a_policy_and_in_no_other_way(text: str) -> None:
    with pytest.raises(PolicyError):
        load(text)


@relaxed
@given(st.sampled_from(sorted(TEXTS)), st.data())
def test_any_damage_is_refused_as_a_policy_or_loads(profile: str, data: st.DataObject) -> None:
    text = "\n".join(TEXTS[profile])
    begin = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(begin, min(len(text), begin + 40)))
    damaged = text[:begin] + data.draw(st.text(max_size=10)) + text[end:]
    found: tuple[Fault, ...] = ()
    try:
        assert load(damaged).written.text == damaged
    except PolicyError as error:
        found = error.faults or (Fault("", 0, "", "no place"),)
    assert all(1 <= fault.line <= damaged.count("\n") + 1 for fault in found)


def test_the_files_are_those_that_are_shipped() -> None:
    assert {Path(file).suffix for file in FILES} == {".toml"}
    assert len(TEXTS) == 7
