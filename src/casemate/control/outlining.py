"""Draws a STEP file in a sandbox: the visible edges of the part, as lines that a picture is made of outside."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass

from casemate.control.execution import Work, execute
from casemate.control.leases import Leases
from casemate.control.runs import Cancellation, Request
from casemate.errors import Denied
from casemate.runtime import outline_report, workspace
from casemate.runtime.outline_report import SIZE, Line
from casemate.runtime.rooms import Standing

ENTRY = "casemate.guest.outline:run"
PART = "part.step"


@dataclass(frozen=True, slots=True)
class Outline:
    """Polylines in a square of SIZE by SIZE, y upwards; none, and `message` says why, if the part was not drawn."""

    lines: tuple[Line, ...]
    message: str = ""
    size: int = SIZE


def outline(request: Request, leases: Leases, standing: Callable[[], Standing]) -> Outline:
    """Draw the one input of a request; raises Denied, Busy or SandboxFault, never for what is in it."""
    profile = request.plan.profile
    if request.program:
        raise Denied(f"profile {profile.name!r} is for plain programs: parts are drawn under a CAD profile")
    with leases.hold(request.tenant, request.actor, profile.name, profile.digest, profile.lifecycle.time_to_live) as it:
        leases.authorise(it, request.tenant, request.actor, profile.digest)
        workspace.check_inputs(request.inputs, profile.limits.upload_bytes)
        budget = profile.stages.facts
        budgets = () if isinstance(budget, str) else (("outline", budget),)
        ground = standing()
        try:
            work = Work("outline", ENTRY, b"", request.inputs, budgets)
            end = time.monotonic() + profile.limits.wall_time
            end = min(end, request.deadline.at) if request.deadline else end
            name = uuid.uuid4().hex[:16]
            finished = execute(request, work, ground, standing, name, end, Cancellation(), lambda: None)
        finally:
            ground.release()
        try:
            lines = outline_report.parse(os.pread(finished.report, profile.limits.report_bytes, 0))
            ended = finished.facts
        finally:
            finished.close()
    if lines:
        return Outline(lines)
    well = (ended.reason, ended.exit_code) == ("exited", 0)
    return Outline((), "it has no edges" if well else f"it cannot be read or drawn ({ended.reason})")
