"""A mutant as data: edits of one guard, and the tests that should see that it is gone."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from casemate.verify.harness import PACKAGE

Edit = tuple[str, str, str]
"""File of the package, old text that must be there exactly once, new text."""


class Misfit(Exception):
    """A mutant that does not fit the package any more."""


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


def laid(text: str, edit: Edit) -> str:
    """The text with the edit; raises Misfit if the old text is not there exactly once."""
    file, old, new = edit
    if text.count(old) != 1:
        raise Misfit(f"{file}: {text.count(old)} times {old!r}")
    if old == new:
        raise Misfit(f"{file}: changes nothing: {old!r}")
    return text.replace(old, new)


def apply(package: Path, mutant: Mutant) -> dict[Path, bytes]:
    """Lay the edits over a copy of the package; what was there before, to be put back."""
    before: dict[Path, bytes] = {}
    for edit in mutant.edits:
        file = package / edit[0]
        before.setdefault(file, file.read_bytes())
        _write(file, laid(file.read_text("utf-8"), edit).encode())
    return before


def restore(before: dict[Path, bytes]) -> None:
    """Put back what `apply` has changed."""
    for file, data in before.items():
        _write(file, data)


def _write(file: Path, data: bytes) -> None:
    # Bytecode is judged by time and size: none of an earlier text may be taken for this one's (py_compile).
    for old in (file.parent / "__pycache__").glob(f"{file.stem}.*.pyc"):
        old.unlink()
    file.unlink()
    file.write_bytes(data)
    os.utime(file)


def unique(mutants: Iterator[Mutant]) -> tuple[Mutant, ...]:
    """In order; no two may have one name."""
    found: dict[str, Mutant] = {}
    for mutant in mutants:
        if mutant.name in found:
            raise Misfit(f"two mutants called {mutant.name}")
        found[mutant.name] = mutant
    return tuple(found.values())
