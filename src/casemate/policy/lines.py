"""On which line of a TOML file a row stands.

tomllib keeps no positions, and no maintained library does. But each statement of TOML begins on a line of its own, and
is TOML by itself: so tomllib is given one line after the other, and more of them until what it has is whole.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from casemate.errors import Fault, PolicyError

MAX_BYTES = 65_536
MAX_LINES = 2_000
MAX_DOTS = 200
"""On one line: a key's parts are so many at most, and tomllib keeps every beginning of a key."""
MAX_DEPTH = 8
"""Levels of tables and lists; a policy has three."""


@dataclass(frozen=True, slots=True)
class Written:
    """A policy file as it was read: its name and its text."""

    file: str
    text: str

    def line(self, row: str) -> int:
        """The line of a row ("limits.memory"), or else of its table, or else 1."""
        found = _lines(self.text)
        return found.get(row) or found.get(row.partition(".")[0]) or 1

    def fault(self, row: str, message: str) -> Fault:
        """What is wrong with a row, with its place."""
        return Fault(self.file, self.line(row), row, message)

    def read(self) -> dict[str, Any]:
        """Its tables; raises PolicyError if it is no TOML, or above one of the bounds above."""
        try:
            size = len(self.text.encode())
        except UnicodeEncodeError as error:
            raise PolicyError.of([Fault(self.file, 1, "", str(error))]) from None
        lines = self.text.split("\n")
        if size > MAX_BYTES or len(lines) > MAX_LINES + 1:
            raise PolicyError.of(
                [Fault(self.file, 1, "", f"a policy has at most {MAX_BYTES} bytes and {MAX_LINES} lines")]
            )
        for number, line in enumerate(lines, 1):
            if line.count(".") > MAX_DOTS:
                raise PolicyError.of([Fault(self.file, number, "", f"a line has at most {MAX_DOTS} dots")])
        try:
            tables = tomllib.loads(self.text)
        except ValueError as error:  # TOMLDecodeError, and what int() says of 4,301 digits
            place = re.search(r"at line (\d+)", str(error))
            last = self.text.count("\n") + 1
            raise PolicyError.of([Fault(self.file, int(place[1]) if place else last, "", str(error))]) from None
        except RecursionError:
            raise PolicyError.of([Fault(self.file, 1, "", _TOO_DEEP)]) from None
        for row, value in tables.items():
            if not _shallow(value, MAX_DEPTH - 1):
                raise PolicyError.of([Fault(self.file, 1, row, _TOO_DEEP)])
        return tables


_TOO_DEEP = f"nested too deeply: a policy has at most {MAX_DEPTH} levels"


def _shallow(value: object, levels: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return not inner or (levels > 0 and all(_shallow(item, levels - 1) for item in inner))


@functools.lru_cache(8)
def _lines(text: str) -> dict[str, int]:
    """Dotted name of each table and row, two levels deep, and the line that its first statement begins on."""
    found: dict[str, int] = {}
    table: tuple[str, ...] = ()
    for number, statement, rows in _statements(text):
        header = statement.lstrip().startswith("[")
        for path in _paths(rows, ()):
            for depth in (1, 2):
                whole = path if header else (*table, *path)
                if len(whole) >= depth:
                    found.setdefault(".".join(whole[:depth]), number)
        if header:
            table = max(_paths(rows, ()), key=len)
    return found


def _statements(text: str) -> Iterator[tuple[int, str, dict[str, Any]]]:
    first, pending = 1, ""
    for number, line in enumerate(text.split("\n"), 1):
        if not pending:
            first = number
        pending += f"{line}\n"
        try:
            rows = tomllib.loads(pending)
        except ValueError:
            continue
        if rows:
            yield first, pending, rows
        pending = ""


def _paths(value: object, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The path of each table and value in it."""
    if path:
        yield path
    if isinstance(value, list) and value and isinstance(value[0], dict):
        value = value[0]  # [[table]]
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _paths(item, (*path, key))
