"""A row's line is that on which its statement begins, however it is written."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from policy.written import FILES, NAMES

from casemate.errors import PolicyError
from casemate.policy import Profile, parse, parse_ceiling
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


def test_a_file_that_would_exhaust_the_reader_is_refused_before_it_is_read() -> None:
    """64 KB of one dotted key cost tomllib 4 GB: it keeps every beginning of a key."""
    text = "[t]\n" + ".".join("a" * 30_000) + " = 1\n"
    with pytest.raises(PolicyError, match=r"^x:2: .*200 dots"):
        Written("x", text).read()
    assert Written("x", f'[t]\na = "{"." * 200}"\n').read() == {"t": {"a": "." * 200}}


def load_profile(text: str, file: str) -> Profile:
    return parse(text, file, NAMES)


@pytest.mark.parametrize("depth", [7, 8, 100, 200, 400, *range(440, 500, 2), 5000])
@pytest.mark.parametrize("kind", ["list", "table", "key", "header"])
def test_what_is_nested_deeply_is_a_fault_and_no_other_error(depth: int, kind: str) -> None:
    inner = min(depth, 150)  # of what stands on one line with dots
    text = {
        "list": f"a = {'[' * depth}1{']' * depth}",
        "table": f"a = {'{b = ' * depth}1{'}' * depth}",
        "key": f"{'.'.join('a' * inner)} = 1",
        "header": f"[{'.'.join('a' * inner)}]",
    }[kind]
    for load in (load_profile, parse_ceiling):
        with pytest.raises(PolicyError, match=r"^x:\d+: "):
            load(f"{text}\n", "x")


def test_text_that_is_no_unicode_is_a_fault() -> None:
    with pytest.raises(PolicyError, match="surrogates not allowed"):
        load_profile("# \ud800\n", "x")
