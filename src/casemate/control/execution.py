"""One sandbox with one execution, to its end: started, waited for, and tried in another room if nothing had begun."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from typing import TYPE_CHECKING

from casemate.control import rendered
from casemate.errors import SandboxFault
from casemate.policy.limits import applicable
from casemate.runtime import workspace
from casemate.runtime.connection import Finished, NotBegun
from casemate.runtime.rooms import GuestJob, Standing

if TYPE_CHECKING:
    from casemate.control.runs import Cancellation, Request

TRIES = 4
"""How often a job is given away of which not a byte was read."""


@dataclass(frozen=True, slots=True)
class Work:
    """What one sandbox is to do. `gated`: the gate must admit `source` within its own budget."""

    stage: str
    entry: str
    source: bytes
    inputs: Mapping[str, bytes]
    budgets: tuple[tuple[str, float], ...]
    gated: bool = False


def execute(
    request: Request, work: Work, ground: Standing, again: Callable[[], Standing], name: str, end: float,
    cancellation: Cancellation, started: Callable[[], None],
) -> Finished:  # fmt: skip
    """Run it until `end` (CLOCK_MONOTONIC); the descriptors of what it gives are the caller's to close."""
    profile = request.plan.profile
    with workspace.sealed(work.source, *work.inputs.values()) as descriptors:

        def attempt(ground: Standing, name: str) -> Finished:
            job = GuestJob(
                id=name, stage=work.stage, gate=profile.gate.rules if request.gated else None,
                workdir=f"/tmp/job-{name}", inputs=tuple(work.inputs),
                address_space=applicable(profile.stages.gate_memory), address_space_after=0, cpu_after=0,
                budgets=work.budgets,
            )  # fmt: skip
            future = ground.start(
                name=name, entry=work.entry, job=job, walls=rendered.walls(request.plan, traced=request.traced),
                bounds=rendered.bounds(request.plan), gated=work.gated, deadline=end, descriptors=descriptors,
                started=started,
            )  # fmt: skip
            return _wait(future, lambda: ground.connection.cancel(name), cancellation)

        def elsewhere(number: int) -> Finished:
            """Making another room is not the program's time."""
            nonlocal end
            failed = time.monotonic()
            try:
                other = again()
            except TimeoutError as error:
                raise SandboxFault(str(error)) from None
            end += time.monotonic() - failed
            end = min(end, request.deadline.at) if request.deadline else end
            try:
                return attempt(other, f"{name}-again-{number}")
            finally:
                other.release()

        for number in range(TRIES):
            try:
                return elsewhere(number) if number else attempt(ground, name)
            except NotBegun:
                # The room fell between the asking and the answer, or is about to be known to have fallen.
                if number == TRIES - 1:
                    raise
        raise AssertionError("unreachable")


def _wait(future: Future[Finished], cancel: Callable[[], None], cancellation: Cancellation) -> Finished:
    """The keeper's facts. If this thread is interrupted the job is killed, and waited for, before that goes on."""
    cancellation.watch(cancel)
    try:
        return future.result()
    except (SandboxFault, CancelledError):
        raise
    except BaseException:
        cancel()
        with contextlib.suppress(SandboxFault):
            future.result(30.0).close()
        raise
    finally:
        cancellation.watch(None)
