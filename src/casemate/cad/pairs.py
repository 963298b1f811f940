"""Reads what is to be scored: generated shapes and references, matched by id.

Each side is one STEP file or script, a directory of them (the id is the stem), or JSON lines: an `id`, and one of
`step` (a path, from the file's own directory), `script` (a path) or `source` (a script's text); a reference may have a
`difficulty`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from casemate.errors import Denied

STEP, SCRIPT, LINES = (".step", ".stp"), (".py",), (".jsonl", ".ndjson")
MOST_LINE = 4 << 20
"""Bytes of one row."""
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Item:
    """A shape of one side: a STEP file, or a script, as a file or as text."""

    id: str
    step: Path | None = None
    script: Path | None = None
    source: str | None = None
    difficulty: str = ""


@dataclass(frozen=True, slots=True)
class Pair:
    """A reference, and what was generated for it: None where nothing was."""

    id: str
    reference: Item
    generated: Item | None

    @property
    def difficulty(self) -> str:
        """The reference's, or else the generated one's, or ""."""
        return self.reference.difficulty or (self.generated.difficulty if self.generated else "")


class _Row(BaseModel):
    """One of the JSON lines; what else stands there is the caller's own."""

    model_config = ConfigDict(frozen=True, strict=True)
    id: Annotated[str, Field(min_length=1, max_length=500)]
    step: str | None = None
    script: str | None = None
    source: str | None = None
    difficulty: Annotated[str, Field(max_length=100)] = ""


def match(generated: Path, reference: Path) -> list[Pair]:
    """Every reference with what was generated for it, in the references' order; raises Denied, OSError.

    Two single files belong together, whatever they are called.
    """
    mine, theirs = read(generated), read(reference)
    if not theirs:
        raise Denied(f"{reference} holds no reference")
    if _single(generated) and _single(reference):
        [item], [other] = mine.values(), theirs.values()
        return [Pair(item.id, other, item)]
    unknown = [name for name in mine if name not in theirs]
    if unknown:
        more = f" and {len(unknown) - _SHOWN} more" if len(unknown) > _SHOWN else ""
        raise Denied(f"{reference} has no reference for {', '.join(unknown[:_SHOWN])}{more}")
    return [Pair(name, item, mine.get(name)) for name, item in theirs.items()]


def read(path: Path) -> dict[str, Item]:
    """The shapes of one side by id; raises Denied, OSError."""
    if path.is_dir():
        files = sorted(entry for entry in path.iterdir() if entry.suffix.lower() in (*STEP, *SCRIPT))
        return _by_id(path, (_of_file(file) for file in files))
    if path.suffix.lower() in LINES:
        return _by_id(path, _rows(path))
    if not _single(path):
        raise Denied(f"{path}: a STEP file, a script, a directory of them, or .jsonl is needed")
    path.stat()
    return {path.stem: _of_file(path)}


def _single(path: Path) -> bool:
    return not path.is_dir() and path.suffix.lower() in (*STEP, *SCRIPT)


def _of_file(path: Path) -> Item:
    return Item(path.stem, step=path) if path.suffix.lower() in STEP else Item(path.stem, script=path)


def _by_id(path: Path, items: Iterator[Item]) -> dict[str, Item]:
    found: dict[str, Item] = {}
    for item in items:
        if item.id in found:
            raise Denied(f"{path}: {item.id!r} is there twice")
        found[item.id] = item
    return found


def _rows(path: Path) -> Iterator[Item]:
    with path.open("rb") as file:
        number = 0
        while line := file.readline(MOST_LINE + 1):
            number += 1
            if len(line) > MOST_LINE:
                raise Denied(f"{path}, line {number}: more than {MOST_LINE} bytes")
            if line.strip():
                yield _row(path, number, line)


def _row(path: Path, number: int, line: bytes) -> Item:
    try:
        row = _Row.model_validate(json.loads(line))
    except ValidationError as error:
        first = error.errors()[0]
        raise Denied(f"{path}, line {number}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    except (ValueError, RecursionError):
        raise Denied(f"{path}, line {number}: no JSON object") from None
    if sum(given is not None for given in (row.step, row.script, row.source)) != 1:
        raise Denied(f"{path}, line {number}: one of step, script and source is needed")
    return Item(
        row.id,
        step=None if row.step is None else path.parent / row.step,
        script=None if row.script is None else path.parent / row.script,
        source=row.source,
        difficulty=row.difficulty,
    )
