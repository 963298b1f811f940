"""One row of a batch: a source with its place, or the reason why it cannot be read; and rows as lines of JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

LONGEST_SOURCE = 1 << 20
"""Bytes of one source; no profile admits a quarter of it."""
LONGEST_LINE = 4 << 20
"""Bytes of one line of JSON, with whatever columns stand beside the source."""
LONGEST_ID = 1024
CHUNK = 1 << 16
BOM = b"\xef\xbb\xbf"


class Why(StrEnum):
    """Why a row could not be read; nothing of it ran."""

    NOT_JSON = "not_json"
    NO_COLUMN = "no_column"
    NOT_TEXT = "not_text"
    NOT_UTF8 = "not_utf8"
    TOO_LONG = "too_long"
    BAD_ID = "bad_id"
    DAMAGED = "damaged"
    NO_FILE = "no_file"


@dataclass(frozen=True, slots=True)
class Unreadable:
    """What was wrong with a row."""

    reason: Why
    message: str


@dataclass(frozen=True, slots=True)
class Row:
    """`place` is FILE, FILE:LINE (from 1) or FILE#ROW (from 0, of parquet); exactly one of the last two is there."""

    place: str
    id: str | int | None
    source: bytes | None
    unreadable: Unreadable | None = None


def refused(place: str, why: Why, message: str, name: str | int | None = None) -> Row:
    """A row that cannot be read."""
    return Row(place, name, None, Unreadable(why, message))


def plain(text: str) -> str:
    """The text as something that UTF-8 can hold: lone surrogates, of a path or of JSON, as escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def of_cells(place: str, source: object, name: object) -> Row:
    """A row from its two cells: the source, text or bytes, and the id, text, a whole number or nothing."""
    if isinstance(name, str):
        if len(name) > LONGEST_ID or name != plain(name):
            return refused(place, Why.BAD_ID, f"an id is at most {LONGEST_ID} characters of valid text")
    elif name is not None and (not isinstance(name, int) or isinstance(name, bool) or abs(name) >= 1 << 63):
        return refused(place, Why.BAD_ID, "an id is text, a whole number of 64 bits, or null")
    if isinstance(source, str):
        try:
            source = source.encode("utf-8")
        except UnicodeEncodeError as error:
            return refused(place, Why.NOT_UTF8, f"the source has a lone surrogate at character {error.start}", name)
    if not isinstance(source, bytes):
        kind = "null" if source is None else type(source).__name__
        return refused(place, Why.NOT_TEXT, f"the source is {kind}, not text", name)
    if len(source) > LONGEST_SOURCE:
        return refused(place, Why.TOO_LONG, f"a source of {len(source)} bytes; {LONGEST_SOURCE} can be read", name)
    return Row(place, name, source)


def of_line(place: str, line: bytes | None, column: str) -> Row:
    """A row from one line of JSON; None is a line that was too long to be kept."""
    if line is None:
        return refused(place, Why.TOO_LONG, f"a line of more than {LONGEST_LINE} bytes")
    try:
        value = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        return refused(place, Why.NOT_UTF8, f"byte {error.start} of the line is no UTF-8")
    except (ValueError, RecursionError) as error:
        where = f"column {error.colno}" if isinstance(error, json.JSONDecodeError) else "too deep, or too big a number"
        return refused(place, Why.NOT_JSON, f"the line is no JSON ({where})")
    if not isinstance(value, dict):
        return refused(place, Why.NOT_JSON, "the line is no JSON object")
    if column not in value:
        return refused(place, Why.NO_COLUMN, f"the row has no column {plain(column)!r}")
    return of_cells(place, value[column], None if column == "id" else value.get("id"))


def lines(read: Callable[[int], bytes], longest: int = LONGEST_LINE) -> Iterator[tuple[int, bytes | None]]:
    """(number from 1, line without its end) as `read` gives bytes, None for one that is too long.

    Holds no more than `longest` bytes and a chunk. Lines of nothing but blanks are left out, and counted. `read(n)`
    gives up to n bytes as soon as there are any, b"" at the end: a line that has come is never held back.
    """
    number, held, skipping, first = 1, bytearray(), False, True
    while chunk := read(CHUNK):
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            held += chunk[start:end]
            start = end + 1
            yield from _line(number, held, skipping or len(held) > longest, first)
            number, held, skipping, first = number + 1, bytearray(), False, False
        held += chunk[start:]
        if len(held) > longest:
            held, skipping = bytearray(), True
    yield from _line(number, held, skipping, first)


def _line(number: int, held: bytearray, too_long: bool, first: bool) -> Iterator[tuple[int, bytes | None]]:
    if too_long:
        yield number, None
        return
    line = bytes(held).removeprefix(BOM) if first else bytes(held)
    if line.strip():
        yield number, line
