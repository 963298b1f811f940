"""What the gate answers, and how it collects its findings."""

from __future__ import annotations

import ast
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate

from ..model import Denial, Notice
from .tables import limits


@dataclass(frozen=True, slots=True)
class Admitted:
    """The script may run. `tree` is what is compiled: the very tree that was checked, rewritten where notices say so.

    `text` is the source after decoding, with `\\n` line ends: the lines that messages quote.
    """

    tree: ast.Module
    text: str
    notices: tuple[Notice, ...]


@dataclass(frozen=True, slots=True)
class Denied:
    """The script may not run, and not one line of it has. Every reason, in source order."""

    denials: tuple[Denial, ...]


def visible(text: str) -> str:
    """The text with everything that a terminal would not show as itself written as an escape."""
    return "".join(c if c.isprintable() or c == "\t" else f"\\u{ord(c):04x}" for c in text)


def _start(node: ast.AST | None) -> tuple[int, int]:
    """Line and byte of what is refused; of an attribute, its name, which may stand lines below its chain's start."""
    if isinstance(node, ast.Attribute) and node.end_lineno is not None and node.end_col_offset is not None:
        return node.end_lineno, max(node.end_col_offset - len(node.attr.encode()), 0)
    return int(getattr(node, "lineno", 0) or 0), int(getattr(node, "col_offset", 0) or 0)


class Findings:
    """Denials and notices of one check, in the order in which they were found."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._denials: dict[tuple[int, int, str, str], Denial] = {}
        self._notices: list[Notice] = []
        self._found = 0
        self._uncounted = 0
        #: line that is not ASCII -> the byte at which each of its characters ends
        self._ends: dict[int, list[int]] = {}

    def deny(self, code: str, node: ast.AST | None, message: str, *, name: str = "", hint: str = "") -> None:
        """Record a refusal at a node; None means the whole source."""
        if self._found >= limits.DENIALS_FOUND:
            self._uncounted += 1
            return
        self._found += 1
        line, offset = _start(node)
        kind = "Name" if isinstance(node, ast.Name) else type(node).__name__ if node is not None else ""
        self.deny_at(code, line, self._column(line, offset), message, node=kind, name=name, hint=hint)

    def deny_at(
        self, code: str, line: int, column: int, message: str, *, node: str = "", name: str = "", hint: str = ""
    ) -> None:
        """Record a refusal at a place: line from 1, column from 0 in characters; 0 and 0 for the whole source."""
        line = min(max(line, 0), len(self._lines))
        source_line = self._lines[line - 1] if line else ""
        denial = Denial(
            code=code,
            message=visible(message[: limits.MESSAGE]),
            line=line,
            column=min(max(column, 0), len(source_line)),
            node=node,
            name=visible(name[: limits.NAME]),
            source_line=visible(source_line[: limits.SOURCE_LINE])[: limits.SOURCE_LINE],
            hint="" if message.endswith(hint) else visible(hint[: limits.MESSAGE]),
        )
        self._denials.setdefault((denial.line, denial.column, code, name), denial)

    def first_line(self, line: int) -> str:
        """The text of a line if nothing but blank lines stand before it, or if it is a Markdown fence."""
        if not 0 < line <= len(self._lines):
            return ""
        text = self._lines[line - 1].strip()
        first = not any(before.strip() for before in self._lines[: line - 1])
        return text if first or text.startswith(("```", "~~~")) else ""

    def note(self, code: str, node: ast.AST, message: str) -> None:
        """Record something that stops nothing."""
        self._notices.append(Notice(code, visible(message[: limits.MESSAGE]), int(getattr(node, "lineno", 0) or 0)))

    def _column(self, line: int, offset: int) -> int:
        """The parser counts bytes of UTF-8; a denial counts characters."""
        if not 0 < line <= len(self._lines):
            return 0
        text = self._lines[line - 1]
        if text.isascii():
            return offset
        if line not in self._ends:
            self._ends[line] = list(accumulate(len(character.encode("utf-8")) for character in text))
        return bisect_right(self._ends[line], offset)

    @property
    def denied(self) -> bool:
        """True once anything was refused."""
        return bool(self._denials)

    @property
    def denials(self) -> tuple[Denial, ...]:
        """All refusals in source order, cut to the bound with a last one that counts the rest."""
        found = sorted(self._denials.values(), key=lambda denial: (denial.line, denial.column))
        if len(found) <= limits.DENIALS:
            return tuple(found)
        left = len(found) - limits.DENIALS + self._uncounted
        last = found[limits.DENIALS - 1]
        omitted = Denial("omitted", f"{left} more denials are not listed", last.line, last.column, name=str(left))
        return (*found[: limits.DENIALS], omitted)

    @property
    def notices(self) -> tuple[Notice, ...]:
        """All notices in source order, each once."""
        return tuple(dict.fromkeys(sorted(self._notices, key=lambda notice: notice.line)))
