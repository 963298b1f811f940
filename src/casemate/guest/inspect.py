"""The second stage, in a clean process: reads what the script handed over, writes the STEP, re-reads and measures it.

Nothing of the script's own process is believed: the shapes come as binary BREP, the names were parsed outside, and the
facts are those of the file that is delivered. OCCT's reader repairs what it reads: a self-intersecting solid comes back
"valid", in other pieces. So a shape that comes back different, or without volume, is checked as it was handed over too;
the others are checked once, because that check can take longer than all the rest.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from OCP.BinTools import BinTools
from OCP.BRep import BRep_Builder
from OCP.TopAbs import TopAbs_ShapeEnum
from OCP.TopoDS import TopoDS_Compound, TopoDS_Shape

from casemate.guest import measure, step
from casemate.guest.report import Report
from casemate.guest.stages import refuse_by_error, stage
from casemate.model import Facts, Verdict

MANIFEST = "manifest.json"
OUTPUT = "out"


class Job(Protocol):
    """What this stage reads of `launcher.spec.GuestJob`."""

    @property
    def workdir(self) -> str:
        """The job directory."""

    @property
    def budgets(self) -> tuple[tuple[str, float], ...]:
        """Seconds by stage."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What became of one part."""

    verdict: Verdict
    message: str = ""
    file: str | None = None
    facts: Facts | None = None


class Unreadable(Exception):
    """A file that the script's process handed over is not a shape."""


def run(job: Job) -> int:
    """Inspect each part of the manifest in order; one that fails does not take the others with it."""
    refuse_by_error()
    with open(os.path.join(job.workdir, MANIFEST), encoding="utf-8") as file:
        parts = json.load(file)
    os.makedirs(os.path.join(job.workdir, OUTPUT), exist_ok=True)
    inspect(Report(), job, parts, job.workdir, reread=True)
    return 0


def inspect(report: Report, job: Job, parts: Sequence[Mapping[str, Any]], directory: str, *, reread: bool) -> None:
    """Write and measure each part from its files in `directory`; one record for each.

    With `reread` the facts are those of the STEP as it reads back, else those of the shape it was written from.
    """
    for part in parts:
        name = str(part["name"])
        target = "part.step" if len(parts) == 1 else f"{name}.step"
        found = _inspect(report, job, part, directory, target, reread)
        report.write(
            "part",
            name=name,
            verdict=found.verdict.value,
            file=found.file,
            facts=None if found.facts is None else dataclasses.asdict(found.facts),
            message=found.message,
        )


def _inspect(report: Report, job: Job, part: Mapping[str, Any], directory: str, target: str, reread: bool) -> Finding:
    budgets = dict(job.budgets)
    path = os.path.join(job.workdir, OUTPUT, target)
    try:
        with stage(report, "step", budgets):
            solids = [(str(leaf["name"]), read(os.path.join(directory, leaf["file"]))) for leaf in part["files"]]
            shape = together([solid for _, solid in solids])
            found = hopeless(shape)
            if found is not None:
                return found
            before = measure.amounts(shape)
            step.write(path, str(part["name"]), solids, assembly=part["type"] == "assembly")
        with stage(report, "facts", budgets):
            return judge(target, shape, before, step.read(path) if reread else shape)
    except Unreadable as error:
        return Finding(Verdict.INSPECTOR_FAILED, str(error))
    except (step.StepError, OSError) as error:
        with contextlib.suppress(OSError):
            os.unlink(path)  # half a STEP is nobody's part
        return Finding(Verdict.WRITER_FAILED, str(error))
    except Exception as error:  # OCCT throws anything; the next part still has a chance
        return Finding(Verdict.INSPECTOR_FAILED, f"{type(error).__name__}: {error}"[:1000])


def read(path: str) -> Any:
    """The TopoDS_Shape of one binary BREP file."""
    shape = TopoDS_Shape()
    try:
        whole = BinTools.Read_s(shape, path) and not shape.IsNull()
    except Exception as error:  # OCCT throws anything on bytes that are not its own
        raise Unreadable(f"{os.path.basename(path)}: not a shape that OCCT can read ({type(error).__name__})") from None
    if not whole:
        raise Unreadable(f"{os.path.basename(path)}: not a shape that OCCT can read")
    return shape


def hopeless(shape: Any) -> Finding | None:
    """The verdict over a shape of which no STEP could be written."""
    if not measure.sub_shapes(shape, TopAbs_ShapeEnum.TopAbs_FACE):
        edges = measure.sub_shapes(shape, TopAbs_ShapeEnum.TopAbs_EDGE)
        what = (
            "holds only edges: extrude, revolve or sweep a closed profile"
            if edges
            else "is empty: nothing was built, or a cut left nothing"
        )
        return Finding(Verdict.NO_SOLID, f"the result {what}")
    if not measure.finite_vertices(shape) or measure.bounds(shape, exact=False) is None:
        return Finding(Verdict.NOT_FINITE, "the result has no finite size: a dimension is NaN, infinite or enormous")
    return None


def judge(target: str, shape: Any, before: measure.Amounts, written: Any) -> Finding:
    """The verdict over a file, from the shape that went in, what it amounted to, and the shape that was read back.

    Without reading back `written` is the shape that went in, which is not measured twice.
    """
    after = before if written is shape else measure.amounts(written)
    facts = measure.facts(written, after)
    if facts is None:
        return Finding(Verdict.NOT_FINITE, "the STEP that was written does not measure as finite")
    if before.solids == 0:
        faces = f"{before.faces} face{'' if before.faces == 1 else 's'}"
        if before.shells:
            what = f"a shell, not a solid ({faces}): close it, and make a solid of it"
        else:
            what = f"a sketch, not a solid ({faces}): extrude it"
        return Finding(Verdict.NO_SOLID, what, target, facts)
    empty = _volume(before.least_volume) or _volume(after.least_volume)
    if empty or not facts.valid or not after.like(before):
        faults = measure.faults(shape)
        if faults or not facts.valid:
            facts = dataclasses.replace(facts, valid=False)
            why = f"OCCT finds the solid invalid: {faults}" if faults else "the solid does not survive writing to STEP"
            return Finding(Verdict.INVALID, why, target, facts)
    if empty:
        return Finding(Verdict.ZERO_VOLUME, empty, target, facts)
    if after.solids < before.solids:
        lost = f"the STEP holds {after.solids} of {before.solids} solids"
        return Finding(Verdict.WRITER_FAILED, lost, target, facts)
    return Finding(Verdict.PART, "", target, facts)


def together(shapes: list[Any]) -> Any:
    """One shape as it is, several as a compound."""
    if len(shapes) == 1:
        return shapes[0]
    compound = TopoDS_Compound()
    builder = BRep_Builder()
    builder.MakeCompound(compound)
    for shape in shapes:
        builder.Add(compound, shape)
    return compound


def _volume(volume: float) -> str:
    """What is wrong with a solid's volume; empty if nothing is."""
    if volume < -measure.NOTHING:
        return f"a solid is inside out (its volume was {volume:.6g} mm³ before writing): reverse its faces"
    if volume <= measure.NOTHING:
        return "a solid has no volume: check its thickness and extrusion length"
    return ""
