"""Edits of a copy of the package. Nothing of the package itself is imported here: it may be the one that is edited."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

ORDERS = "orders"
"""In the copy of the project: the pipe on which orders come."""
Edit = tuple[str, str, str]
"""File of the package, old text that must be there exactly once, new text."""


class Misfit(Exception):
    """A mutant that does not fit the package any more."""


def laid(text: str, edit: Edit) -> str:
    """The text with the edit; raises Misfit if the old text is not there exactly once."""
    file, old, new = edit
    if text.count(old) != 1:
        raise Misfit(f"{file}: {text.count(old)} times {old!r}")
    if old == new:
        raise Misfit(f"{file}: changes nothing: {old!r}")
    return text.replace(old, new)


def apply(package: Path, edits: Iterable[Edit]) -> dict[Path, bytes]:
    """Lay the edits over a copy of the package; what was there before, to be put back."""
    before: dict[Path, bytes] = {}
    for edit in edits:
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
