"""A row's line is that on which its statement begins, however it is written."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from policy.written import FILES

from casemate.policy.lines import Written

relaxed = settings(deadline=None)

ODD = '''# a comment
top.dotted = 1

[ first ]  # with spaces
a = 1
b = [  # over lines
  "]",
  # inside
  2,
]
c.d = 5
"quoted" = """
[second]
a = 3
"""
[second]
a = """x"""
table = { inner = 1 }

[third.deep]
x = 1
[[many]]
one = 1
[[many]]
two = 2
'''


@pytest.mark.parametrize(
    ("row", "line"),
    [
        ("top.dotted", 2), ("top", 2), ("first", 4), ("first.a", 5), ("first.b", 6), ("first.c", 11),
        ("first.quoted", 12), ("second", 16), ("second.a", 17), ("second.table", 18), ("third", 20), ("third.deep", 20),
        ("many", 22), ("many.one", 23), ("many.two", 25), ("first.missing", 4), ("missing", 1), ("missing.row", 1),
    ],
)  # fmt: skip
def test_odd_but_valid_files(row: str, line: int) -> None:
    assert Written("x", ODD).line(row) == line
    assert Written("x", ODD.replace("\n", "\r\n")).line(row) == line


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_row_of_every_shipped_file(file: object) -> None:
    text = file.read_text("utf-8")  # type: ignore[attr-defined]
    written, table = Written("x", text), ""
    seen = 0
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("["):
            table = line.strip("[]")
            assert written.line(table) == number
        elif line[:1].isalpha():
            seen += 1
            assert written.line(f"{table}.{line.split(' = ')[0]}") == number
    assert seen > 50


@relaxed
@given(st.lists(st.sampled_from(["", "# x", "  ", "\t# y"]), max_size=5), st.integers(0, 3))
def test_blank_lines_and_comments_do_not_count_as_rows(filler: list[str], items: int) -> None:
    array = [f"  {number}," for number in range(items)]
    lines = ["[t]", *filler, "a = [", *array, *filler, "]", *filler, "b = 2"]
    written = Written("x", "\n".join(lines))
    assert (written.line("t.a"), written.line("t.b")) == (2 + len(filler), len(lines))
