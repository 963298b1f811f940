"""Compares STEP files in sandboxes: one for a pair, and another for the estimate if OCCT's boolean ends the first.

What is told comes from a clean process that has parsed both files, through a strict parser. The reference is read
first: what the generated file does to OCCT cannot be taken for a fault of the reference.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import time
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Literal

from casemate.control.execution import Work, execute
from casemate.control.leases import Leases
from casemate.control.runs import Cancellation, Request
from casemate.errors import Denied
from casemate.model import Limit, Reason, Verdict
from casemate.policy import Plan
from casemate.runtime import score_report, workspace
from casemate.runtime.rooms import Ended, Standing

ENTRY = "casemate.guest.score:run"
MOST_POINTS, MOST_SEED = 200_000, (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Settings:
    """How shapes are compared; the names are those of `casemate.cad.protocols`."""

    points: int
    seed: int
    normalise: str
    align: str

    def __post_init__(self) -> None:
        """Raise Denied for numbers that no comparison takes."""
        if type(self.points) is not int or not 1 <= self.points <= MOST_POINTS:
            raise Denied(f"points {self.points}: 1 to {MOST_POINTS}")
        if type(self.seed) is not int or not 0 <= self.seed <= MOST_SEED:
            raise Denied(f"seed {self.seed}: 0 to {MOST_SEED}")


@dataclass(frozen=True, slots=True)
class Size:
    """Of a part: mm³, and xmin, ymin, zmin, xmax, ymax, zmax in mm."""

    volume: float
    box: tuple[float, float, float, float, float, float]


@dataclass(frozen=True, slots=True)
class Distances:
    """Between points on both surfaces, as `guest/score.py` defines them, in the units of the normalisation."""

    chamfer: float
    point_cloud: float
    hausdorff: float
    iogt: float


@dataclass(frozen=True, slots=True)
class Overlap:
    """Intersection over union; `error` is one standard error of an estimate by `samples` rays, else both are 0.

    `message` says why it is an estimate.
    """

    method: Literal["boolean", "sampled"]
    iou: float
    error: float
    samples: int
    message: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What came of a pair. `fault` says whose file is no part, or that it was cancelled or lost; "": both are parts.

    Of two parts `distances` or `overlap` can still be None, and `message` says why.
    """

    fault: Literal["", "reference", "generated", "cancelled", "lost"]
    verdict: Verdict | None = None
    message: str = ""
    reference: Size | None = None
    generated: Size | None = None
    distances: Distances | None = None
    overlap: Overlap | None = None


def inputs(generated: tuple[bytes, ...], reference: bytes) -> dict[str, bytes]:
    """The files of a pair by the names under which the sandbox finds them; several of one shape are taken together."""
    names = {f"generated-{number}.step": data for number, data in enumerate(generated)}
    return {"reference.step": reference, **names}


def compare(
    request: Request, settings: Settings, leases: Leases, standing: Callable[[], Standing], cancellation: Cancellation
) -> Comparison:
    """Compare the files of a request's `inputs`; raises Denied, Busy or SandboxFault, never for what is in them."""
    profile = request.plan.profile
    if request.program:
        raise Denied(f"profile {profile.name!r} is for plain programs: shapes are compared under a CAD profile")
    name = uuid.uuid4().hex[:16]
    with (
        leases.hold(
            request.tenant, request.actor, profile.name, profile.digest, profile.lifecycle.time_to_live
        ) as lease,
        contextlib.ExitStack() as stack,
    ):
        leases.authorise(lease, request.tenant, request.actor, profile.digest)
        workspace.check_inputs(request.inputs, profile.limits.upload_bytes)
        ground = standing()
        stack.callback(ground.release)

        def once(number: int, samples_only: bool) -> tuple[Ended, score_report.ScoreReport]:
            given = {**asdict(settings), "samples_only": samples_only, "files": len(request.inputs) - 1}
            files = {**request.inputs, "score.json": json.dumps(given).encode()}
            work = Work("score", ENTRY, b"", files, _budgets(request.plan))
            end = time.monotonic() + profile.limits.wall_time
            finished = execute(
                request, work, ground, standing, f"{name}-{number}", end, cancellation, lambda: None
            )  # fmt: skip
            try:
                data = os.pread(finished.report, profile.limits.report_bytes, 0)
                return finished.facts, score_report.parse(data)
            finally:
                finished.close()

        facts, told = once(1, samples_only=False)
        found = of_report(facts, told)
        if found.fault or found.distances is None or found.overlap is not None or told.overlap is not None:
            return found
        # The boolean took the process with it: an estimate, in another one.
        after = f"OCCT's boolean ended its sandbox ({ended(facts, told)})"
        facts, told = once(2, samples_only=True)
        again = of_report(facts, told)
        if again.fault in ("cancelled", "lost") or again.overlap is None:
            return _with(found, None, f"{after}, and no estimate was made: {again.message or ended(facts, told)}")
        return _with(found, Overlap("sampled", again.overlap.iou, again.overlap.error, again.overlap.samples, after))


def _with(found: Comparison, overlap: Overlap | None, message: str = "") -> Comparison:
    return Comparison(
        found.fault, found.verdict, message, found.reference, found.generated, found.distances, overlap
    )  # fmt: skip


def _budgets(plan: Plan) -> tuple[tuple[str, float], ...]:
    """A boolean has what the profile gives to measuring, every other stage what it gives to writing a STEP."""
    step, facts = plan.profile.stages.step, plan.profile.stages.facts
    given = (("reference", step), ("generated", step), ("distances", step), ("boolean", facts), ("sampled", step))
    return tuple((name, seconds) for name, seconds in given if not isinstance(seconds, str))


def of_report(facts: Ended, told: score_report.ScoreReport) -> Comparison:
    """What one sandbox found. Pure. Why it ended is the keeper's; the numbers are what its process told."""
    reason = Reason(facts.reason)
    if reason is Reason.CANCELLED or reason is Reason.LOST:
        return Comparison("cancelled" if reason is Reason.CANCELLED else "lost", None, f"its sandbox was {reason}")
    how = ended(facts, told)
    sizes: list[Size] = []
    for which in ("reference", "generated"):
        record = told.shape("reference" if which == "reference" else "generated")
        if record is None:
            return _faulty(which, Verdict.INSPECTOR_FAILED, how, sizes)
        size = _size(record)
        if size is None:
            verdict = Verdict.INSPECTOR_FAILED if record.verdict is Verdict.PART else record.verdict
            return _faulty(which, verdict, record.message or "what is told of it does not hold together", sizes)
        sizes.append(size)
    given = told.distances
    if given is None:
        return Comparison("", Verdict.PART, f"no distances: {how}", sizes[0], sizes[1])
    distances = Distances(given.chamfer, given.point_cloud, given.hausdorff, given.iogt)
    seen = told.overlap
    overlap, message = None, ""
    if seen is not None and seen.method != "none" and seen.iou is not None:
        overlap = Overlap(seen.method, seen.iou, seen.error, seen.samples, seen.message)
    elif seen is not None:
        message = f"no overlap: {seen.message}"
    return Comparison("", Verdict.PART, message, sizes[0], sizes[1], distances, overlap)


def _faulty(which: str, verdict: Verdict, message: str, sizes: list[Size]) -> Comparison:
    fault: Literal["reference", "generated"] = "reference" if which == "reference" else "generated"
    return Comparison(fault, verdict, message, sizes[0] if sizes else None)


def _size(record: score_report.ShapeRecord) -> Size | None:
    """Of what is called a part, if it has a volume, and an extent along each axis."""
    if record.verdict is not Verdict.PART or record.volume is None or record.box is None or record.volume <= 0:
        return None
    if not all(record.box[axis] < record.box[axis + 3] for axis in range(3)) or not math.isfinite(record.volume):
        return None
    return Size(record.volume, record.box)


def ended(facts: Ended, told: score_report.ScoreReport) -> str:
    """How a sandbox ended, in words."""
    stage = f" in stage {told.unfinished}" if told.unfinished else ""
    if facts.reason == "limit":
        return f"limit {Limit(facts.limit)}{stage}"
    if facts.signal == signal.SIGALRM:
        return f"it took longer than its budget{stage}"
    if facts.signal:
        return f"signal {facts.signal}{stage}"
    return told.damaged or f"status {facts.exit_code}{stage}"
