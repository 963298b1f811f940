"""A mutant as data: edits of one guard, and the tests that should see that it is gone."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from mutants.edits import Edit, Misfit

from casemate.verify.harness import PACKAGE


@dataclass(frozen=True, slots=True)
class Mutant:
    """One guard taken out."""

    family: str
    name: str
    edits: tuple[Edit, ...]
    tests: tuple[str, ...]
    """Arguments of pytest: what should fail, the likeliest first."""
    wider: tuple[str, ...] = ()
    """Tried if it survives those."""

    def key(self) -> str:
        """Changes with the mutant."""
        return hashlib.sha256(repr((self.edits, self.tests, self.wider)).encode()).hexdigest()[:16]


def source(file: str) -> str:
    """The text of a file of the package."""
    return (PACKAGE / file).read_text("utf-8")


def lines(file: str, first: int, last: int, new: str) -> Edit:
    """An edit that replaces lines (from 1, both included), with as many lines above as make the old text unique."""
    text = source(file).splitlines(keepends=True)
    for start in range(first - 1, -1, -1):
        old = "".join(text[start:last])
        if "".join(text).count(old) == 1:
            return (file, old, "".join(text[start : first - 1]) + new)
    raise Misfit(f"{file}: lines {first} to {last}")


def unique(mutants: Iterator[Mutant]) -> tuple[Mutant, ...]:
    """In order; no two may have one name."""
    found: dict[str, Mutant] = {}
    for mutant in mutants:
        if mutant.name in found:
            raise Misfit(f"two mutants called {mutant.name}")
        found[mutant.name] = mutant
    return tuple(found.values())
