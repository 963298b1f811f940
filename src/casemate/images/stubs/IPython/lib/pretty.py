"""The part of IPython.lib.pretty that build123d uses to print its lists: one line, no wrapping."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class RepresentationPrinter:
    """Collects text; an object with `_repr_pretty_` prints itself, any other by its repr."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._open: list[int] = []

    def text(self, text: str) -> None:
        """Add text."""
        self._text.append(text)

    def breakable(self, sep: str = " ") -> None:
        """Add a separator, at which a real pretty-printer could break the line."""
        self._text.append(sep)

    @contextmanager
    def group(self, indent: int = 0, open: str = "", close: str = "") -> Iterator[None]:
        """Put what is printed inside the block between two brackets."""
        self.text(open)
        yield
        self.text(close)

    def pretty(self, value: Any) -> None:
        """Add an object; one that is being printed already is printed as a cycle."""
        method = getattr(type(value), "_repr_pretty_", None)
        if method is None:
            self.text(repr(value))
            return
        cycle = id(value) in self._open
        self._open.append(id(value))
        method(value, self, cycle)
        self._open.pop()

    def getvalue(self) -> str:
        """All that was added."""
        return "".join(self._text)


PrettyPrinter = RepresentationPrinter


def pretty(value: Any) -> str:
    """Give the printed form of an object."""
    printer = RepresentationPrinter()
    printer.pretty(value)
    return printer.getvalue()
