"""Rows of JSON lines: whatever a line is, it is one row, and the next line is another."""

from __future__ import annotations

import io
import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from casemate.batch.rows import LONGEST_ID, LONGEST_LINE, LONGEST_SOURCE, Row, Why, lines, of_cells, of_line


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"{", Why.NOT_JSON),
        (b"result = 1", Why.NOT_JSON),
        (b"[1]", Why.NOT_JSON),
        (b'"text"', Why.NOT_JSON),
        (b"[" * 100_000, Why.NOT_JSON),
        (b'{"source": ' + b"9" * 5000 + b"}", Why.NOT_JSON),
        (b'{"source": "x"} {"source": "y"}', Why.NOT_JSON),
        (b'{"code": "x"}', Why.NO_COLUMN),
        (b"{}", Why.NO_COLUMN),
        (b'{"source": null}', Why.NOT_TEXT),
        (b'{"source": 5}', Why.NOT_TEXT),
        (b'{"source": ["x"]}', Why.NOT_TEXT),
        (b'{"source": "\xff"}', Why.NOT_UTF8),
        (b'{"source": "\\ud800"}', Why.NOT_UTF8),
        (b'{"source": "x", "id": [1]}', Why.BAD_ID),
        (b'{"source": "x", "id": true}', Why.BAD_ID),
        (b'{"source": "x", "id": 1.5}', Why.BAD_ID),
        (b'{"source": "x", "id": 9223372036854775808}', Why.BAD_ID),
        (b'{"source": "x", "id": "\\udfff"}', Why.BAD_ID),
        (json.dumps({"source": "x", "id": "i" * (LONGEST_ID + 1)}).encode(), Why.BAD_ID),
        (json.dumps({"source": "x" * (LONGEST_SOURCE + 1)}).encode(), Why.TOO_LONG),
        (None, Why.TOO_LONG),
    ],
)
def test_a_line_that_is_no_row_says_why(line: bytes | None, why: Why) -> None:
    row = of_line("f:3", line, "source")
    assert row.source is None
    assert (row.place, row.unreadable and row.unreadable.reason) == ("f:3", why)


@pytest.mark.parametrize("name", [None, "a", "", 0, -(1 << 63) + 1, "Größe"])
def test_its_twin_is_a_row(name: str | int | None) -> None:
    line = json.dumps({"source": "y = 'ü'\n", "id": name, "prompt": "x" * 100_000}).encode()
    row = of_line("f:1", line, "source")
    assert (row.id, row.source, row.unreadable) == (name, "y = 'ü'\n".encode(), None)


def test_another_column() -> None:
    assert of_line("f:1", b'{"source": "a", "code": "b"}', "code").source == b"b"


def test_bytes_are_taken_as_they_are() -> None:
    assert of_cells("f#0", b"\xff\xfe", None).source == b"\xff\xfe"


@given(st.lists(st.binary(max_size=30).map(lambda b: b.replace(b"\n", b"")), max_size=12), st.data())
def test_lines_are_the_same_however_they_come(wanted: list[bytes], data: st.DataObject) -> None:
    whole = b"\n".join(wanted)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    pieces = [whole[a:b] for a, b in pairwise([0, *cuts, len(whole)])]
    chunks = iter([piece for piece in pieces if piece])
    found = list(lines(lambda _: next(chunks, b""), longest=20))
    expected = []
    for number, line in enumerate(wanted, 1):
        text = line.removeprefix(b"\xef\xbb\xbf") if number == 1 and len(line) <= 20 else line
        if len(line) > 20:
            expected.append((number, None))
        elif text.strip():
            expected.append((number, text))
    assert found == expected


def test_a_line_without_end_is_not_held() -> None:
    """Of 64 MiB without a line's end no more than one line's bound is ever in memory."""
    import tracemalloc

    left = [64]

    def read(size: int) -> bytes:
        if not left[0]:
            return b""
        left[0] -= 1
        return b"x" * (1 << 20)

    tracemalloc.start()
    try:
        assert list(lines(read)) == [(1, None)]
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 4 * LONGEST_LINE


def test_a_line_is_given_as_soon_as_it_has_come() -> None:
    asked = []

    def read(size: int) -> bytes:
        asked.append(size)
        return b'{"source": "1"}\n' if len(asked) == 1 else b""

    found = lines(read)
    assert next(found) == (1, b'{"source": "1"}')
    assert len(asked) == 1


def test_the_last_line_needs_no_end() -> None:
    assert list(lines(io.BytesIO(b"a\n\n \nb").read)) == [(1, b"a"), (4, b"b")]


def test_the_column_of_ids_may_hold_the_scripts() -> None:
    source = "x = 1\n" * 1000
    assert of_line("p", json.dumps({"id": source}).encode(), "id") == Row("p", None, source.encode())
