"""Hands the found parts over as binary BREP files, one for each named solid; the second stage reads them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from OCP.BinTools import BinTools, BinTools_FormatVersion

from casemate.guest import results
from casemate.guest.results import Candidate, Left
from casemate.guest.shapes import Geometry, Kind, geometry, kind_of, label, merged

MAX_PARTS = 32
"""More of them are one part: a list of a hundred screws is not a hundred deliveries."""
MAX_FILES = 64
"""Of all parts together: the profiles let as many leave a sandbox."""
OUTPUT = "out"


@dataclass(frozen=True, slots=True)
class Part:
    """One part to hand over."""

    name: str
    source: str
    geometry: Geometry


def parts_of(candidates: Sequence[Candidate]) -> tuple[list[Part], list[tuple[str, str]]]:
    """The parts of the candidates, each shape once, with notices of what was put together."""
    notices: list[tuple[str, str]] = []
    kept: list[tuple[Candidate, Geometry]] = []
    for candidate in candidates:
        found = geometry(candidate.value)
        if found is not None and not any(found.same(other) for _, other in kept):
            kept.append((candidate, found))
    if len(kept) > MAX_PARTS:
        notices.append(("result.merged", f"{len(kept)} shapes are more than {MAX_PARTS} parts: they became one"))
        kept = [(kept[0][0], merged([found for _, found in kept]))]
    most = MAX_FILES // max(1, len(kept))
    for number, (candidate, found) in enumerate(kept):
        if len(found.leaves) > most:
            notices.append(("result.merged", f"{len(found.leaves)} components are too many: the last became `others`"))
            kept[number] = (candidate, found.cut(most))
    names = results.unique(_name(candidate) for candidate, _ in kept)
    parts = [Part(name, candidate.source, found) for name, (candidate, found) in zip(names, kept, strict=True)]
    return parts, notices


def _name(candidate: Candidate) -> str:
    """As shown or as its variable is called; an object's own name says more than `assy` does."""
    own = label(candidate.value)
    if own and candidate.name in ("", *results.USUAL_NAMES):
        return own
    return candidate.name or "part"


def elsewhere(parts: Sequence[Part], left: Left) -> list[tuple[str, str]]:
    """A notice of where a solid is, if none of the parts is one."""
    if not parts or any(part.geometry.kind >= Kind.CHAIN for part in parts):
        return []
    names = [name for name in left.variables if not name.startswith("__")]
    solids = [name for name in names if kind_of(left.variables[name]) == Kind.SOLID]
    if not solids:
        return []
    return [("result.elsewhere", f"the result is no solid, but `{solids[-1]}` is: assign it to `result`")]


def write(parts: Sequence[Part], workdir: str) -> list[dict[str, Any]]:
    """Write the files under `workdir`/out and return the record's `parts`; raises OSError if one is not whole."""
    folder = os.path.join(workdir, OUTPUT)
    os.makedirs(folder, exist_ok=True)
    record: list[dict[str, Any]] = []
    for number, part in enumerate(parts):
        files = []
        for index, leaf in enumerate(part.geometry.leaves):
            file = f"{number}-{index}.brep"
            write_shape(leaf.shape, os.path.join(folder, file))
            files.append({"name": leaf.name or part.name, "file": file})
        record.append({"name": part.name, "source": part.source, "files": files, "type": part.geometry.type})
    return record


def write_shape(shape: Any, path: str) -> None:
    """Write one file, without triangulation, which a script may have made and which no solid needs."""
    newest = BinTools_FormatVersion.BinTools_FormatVersion_CURRENT
    if not BinTools.Write_s(shape, path, False, False, newest) or os.path.getsize(path) == 0:
        raise OSError(f"{os.path.basename(path)}: OCCT could not write the shape (is the disk full?)")
