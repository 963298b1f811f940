"""The jobs that are timed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial

from casemate.control.host import Host
from casemate.errors import SandboxFault
from casemate.model import RunResult

REFERENCE = """\
import cadquery as cq

plate = cq.Workplane("XY").box(80, 60, 10).edges("|Z").fillet(4)
result = plate.faces(">Z").workplane().rect(60, 40, forConstruction=True).vertices().cboreHole(5.5, 10, 5.4)
cq.exporters.export(result, "plate.step")
"""
"""A plate with filleted corners and four counterbored holes, and its STEP."""
EMPTY = "x = 1\n"
"""A job that does nothing: the gate reads one line, in the light template, and that is all (`Host.check`)."""


def good(result: RunResult) -> RunResult:
    """The result, if the job went well; else SandboxFault: a failed job's time is worth nothing."""
    if not result.ok:
        raise SandboxFault(f"a job of the benchmark failed: {result.outcome}")
    return result


def empty(host: Host, times: int = 1) -> list[float]:
    """Seconds of each empty job, one straight after the other."""
    found = []
    for _ in range(times):
        began = time.perf_counter()
        good(host.check(EMPTY))
        found.append(time.perf_counter() - began)
    return found


def reference(host: Host, profile: str, times: int = 1, source: str = REFERENCE) -> dict[str, list[float]]:
    """Seconds of each job, one straight after the other: `script` until its files are collected, `total`, `teardown`.

    The script stage ends when the inspection is begun; a profile without one has no such moment.
    """
    found: dict[str, list[float]] = {"total": [], "teardown": []}
    for _ in range(times):
        moments: list[tuple[str, float]] = []
        began = time.perf_counter()
        result = good(host.run(source, profile, progress=partial(_note, moments)))
        found["total"].append(time.perf_counter() - began)
        found.setdefault("script", []).extend(moment - began for step, moment in moments if step == "inspect")
        if result.usage.teardown is not None:
            found["teardown"].append(result.usage.teardown)
    return found


def _note(moments: list[tuple[str, float]], step: str) -> None:
    moments.append((step, time.perf_counter()))


def batch(host: Host, profile: str, sources: Sequence[str], at_once: int) -> None:
    """All of them through `Host.map_completed`."""
    for _, result in host.map_completed(sources, profile, jobs=at_once):
        good(result)
