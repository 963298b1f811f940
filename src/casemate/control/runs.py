"""The life of a run, as one readable function.

    authorise → decide → hold a lease → workspace → sandbox → gate and execute → stop → collect
              → second sandbox → inspect → collect → destroy

What a script's own process says is a claim and is used as one: for messages, names and files of unknown content. Why it
ended comes from the keeper, what the part is from the second, clean sandbox.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from casemate.control import outcomes, programs, rendered
from casemate.control.deadline import Deadline
from casemate.control.execution import Work, execute
from casemate.control.leases import LOCAL, Leases
from casemate.model import Artifact, Limit, Notice, Part, Reason, RunResult, Stream
from casemate.policy import Plan
from casemate.runtime import artifacts, report, workspace
from casemate.runtime.connection import Finished
from casemate.runtime.images import Image
from casemate.runtime.rooms import Ended, Standing

SCRIPT, CHECK, INSPECT = "casemate.guest.script:run", "casemate.guest.script:check", "casemate.guest.inspect:run"
PROGRAM = "casemate.guest.program:run"
OUTPUT = "out"
"""Where a job leaves its files, below its directory."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a caller asks for. `gate` False is for tests and programs of ours: no gate reads them."""

    source: bytes
    plan: Plan
    image: Image
    inputs: Mapping[str, bytes] = field(default_factory=dict)
    deadline: Deadline | None = None
    tenant: str = LOCAL
    actor: str = LOCAL
    template: str = "cad"
    gate: bool = True
    check_only: bool = False
    traced: bool = False
    """True: the filter refuses next to nothing, so that what a job needs can be recorded (control/tracing.py)."""

    @property
    def program(self) -> bool:
        """True for a plain program: no gate, no parts, one sandbox."""
        return self.plan.profile.artifacts.inspection == "none"

    @property
    def gated(self) -> bool:
        """True if the gate must admit the source."""
        return self.gate and self.plan.profile.gate.rules != "none"

    @property
    def claimed(self) -> bool:
        """True if the profile takes the script's own word for file and facts."""
        return self.plan.profile.artifacts.inspection == "claimed" and not self.check_only


@dataclass(frozen=True, slots=True)
class Executed:
    """One execution that is over: the keeper's facts, the streams, the parsed report, and what was collected."""

    facts: Ended
    stdout: Stream
    stderr: Stream
    report: report.Report
    files: Mapping[str, Artifact]
    refused: artifacts.Refused | None
    left: tuple[str, ...] = ()
    """What a plain program left and was not taken, with the reason of each."""


class Cancellation:
    """Lets another thread end a run: it reaches the execution that is under way, and any later one."""

    def __init__(self) -> None:
        self._requested = False
        self._cancel: Callable[[], None] | None = None

    def request(self) -> None:
        """End the run."""
        self._requested = True
        if self._cancel is not None:
            self._cancel()

    def watch(self, cancel: Callable[[], None] | None) -> None:
        """The execution that a request must reach now."""
        self._cancel = cancel
        if cancel is not None and self._requested:
            cancel()


def run(
    request: Request, leases: Leases, standing: Callable[[], Standing], cancellation: Cancellation,
    progress: Callable[[str], None] = lambda _: None,
) -> RunResult:  # fmt: skip
    """Run one script under its plan; raises Denied, Busy or SandboxFault, and never for what the program did."""
    profile = request.plan.profile
    name = uuid.uuid4().hex[:16]
    with (
        leases.hold(
            request.tenant, request.actor, profile.name, profile.digest, profile.lifecycle.time_to_live
        ) as lease,
        contextlib.ExitStack() as stack,
    ):
        leases.authorise(lease, request.tenant, request.actor, profile.digest)
        workspace.check_inputs(request.inputs, profile.limits.upload_bytes)
        if len(request.source) > profile.limits.source_bytes:
            message = f"the source has {len(request.source)} bytes; {profile.limits.source_bytes} are allowed"
            return outcomes.without_execution(name, request.plan, request.image, Limit.SOURCE_BYTES, message)
        if request.deadline is not None and request.deadline.left() <= 0:
            return outcomes.without_execution(name, request.plan, request.image, Limit.WALL_TIME, "no time was left")
        progress("template")
        try:
            ground = standing()
        except TimeoutError as error:
            return outcomes.without_execution(name, request.plan, request.image, Limit.WALL_TIME, str(error))
        stack.callback(ground.release)
        began = time.monotonic()
        # One wall clock for both sandboxes; a cold template's imports are not the program's time.
        end = began + profile.limits.wall_time
        end = min(end, request.deadline.at) if request.deadline else end
        budgets = dict(rendered.budgets(request.plan))
        progress("gate")
        first = _execute(request, ground, standing, f"{name}-1", end, cancellation, progress, inspecting=None)
        if request.program:
            return _of_program(name, request, ground, first)
        outcome = outcomes.of_script(
            first.facts, first.report, gated=request.gated, check_only=request.check_only, budgets=budgets
        )
        handover = first.report.handover
        parts: tuple[Part, ...] = ()
        delivered: dict[str, Artifact] = {}
        second: Executed | None = None
        if (
            outcome.reason is Reason.EXITED
            and outcome.exit_code == 0
            and outcome.verdict is None
            and not request.check_only
        ):
            if first.refused is not None or handover is None:
                outcome = outcomes.not_collected(outcome, first.refused)
            elif request.claimed:
                outcome, parts = outcomes.of_inspection(outcome, first.facts, first.report, handover, None, budgets)
                parts, delivered = outcomes.matched(parts, first.files)
            else:
                progress("inspect")
                second = _execute(
                    request,
                    ground,
                    standing,
                    f"{name}-2",
                    end,
                    cancellation,
                    progress,
                    inspecting=(handover, first.files),
                )
                outcome, parts = outcomes.of_inspection(
                    outcome, second.facts, second.report, handover, second.refused, budgets
                )
                delivered = {file.name: file for file in second.files.values()}
                parts, delivered = outcomes.matched(parts, delivered)
    return RunResult(
        id=name, outcome=outcome, stdout=first.stdout, stderr=first.stderr, parts=parts, artifacts=delivered,
        usage=outcomes.usage(first, second),
        enforcement=outcomes.enforcement(request.plan, request.image, ground.layers, first, second),
        trusted=outcomes.trusted(request.plan),
        warnings=(*first.report.notices, *(second.report.notices if second else ())),
    )  # fmt: skip


def _of_program(name: str, request: Request, ground: Standing, done: Executed) -> RunResult:
    outcome = programs.outcome(done.facts, done.report, done.refused)
    return RunResult(
        id=name, outcome=outcome, stdout=done.stdout, stderr=done.stderr, parts=(), artifacts=dict(done.files),
        usage=outcomes.usage(done, None),
        enforcement=outcomes.enforcement(request.plan, request.image, ground.layers, done),
        trusted=outcomes.trusted(request.plan),
        warnings=tuple(Notice("artifact.refused", why) for why in done.left),
    )  # fmt: skip


def demand(request: Request, ground: Standing) -> None:
    """Have sandboxes for requests like this one built before the first comes."""
    ground.demand(rendered.walls(request.plan, traced=request.traced), rendered.bounds(request.plan))


def _execute(
    request: Request, ground: Standing, again: Callable[[], Standing], name: str, end: float,
    cancellation: Cancellation, progress: Callable[[str], None], *,
    inspecting: tuple[report.HandoverRecord, Mapping[str, Artifact]] | None,
) -> Executed:  # fmt: skip
    """One sandbox, one execution: build, run, stop, collect, let go."""
    if inspecting is None:
        source, inputs = request.source, dict(request.inputs)
        stage, entry = ("check", CHECK) if request.check_only else ("script", PROGRAM if request.program else SCRIPT)
        if request.claimed:
            stage = "claimed"
    else:
        record, files = inspecting
        manifest = json.dumps(
            [part.model_dump(exclude={"omitted": True, "files": {"__all__": {"omitted"}}}) for part in record.parts]
        )
        source, inputs = b"", {"manifest.json": manifest.encode(), **{n: a.data for n, a in files.items()}}
        stage, entry = "inspect", INSPECT
    work = Work(
        stage, entry, source, inputs, rendered.budgets(request.plan), gated=request.gated and inspecting is None
    )  # fmt: skip
    finished = execute(
        request, work, ground, again, name, end, cancellation,
        lambda: progress("script" if inspecting is None else "step"),
    )  # fmt: skip
    try:
        return _collect(finished, request, request.claimed or inspecting is not None)
    finally:
        finished.close()


def _collect(finished: Finished, request: Request, inspected: bool) -> Executed:
    facts = finished.facts
    parsed = report.parse(os.pread(finished.report, request.plan.profile.limits.report_bytes, 0))
    files: dict[str, Artifact] = {}
    refused: artifacts.Refused | None = None
    left: tuple[str, ...] = ()
    if finished.workdir is not None and facts.reason == "exited" and (facts.exit_code == 0 or request.program):
        limits = request.plan.profile.limits
        collector = artifacts.Collector(
            finished.workdir, count=limits.artifact_count, each=limits.artifact_bytes, total=limits.artifact_total_bytes
        )
        if request.program:
            wanted = []
        elif inspected:
            wanted = [part.file for part in parsed.parts if part.file is not None]
        else:
            wanted = [file.file for part in parsed.handover.parts for file in part.files] if parsed.handover else []
        try:
            for file in wanted:
                if file in files:
                    raise artifacts.Refused(f"{file}: named twice")
                files[file] = collector.take(f"{OUTPUT}/{file}", file)
            if request.program:
                files, left = artifacts.tree(collector, finished.workdir, OUTPUT)
        except artifacts.Refused as error:
            files, refused = {}, error
    return Executed(
        facts,
        _stream(finished.stdout, facts.stdout_total),
        _stream(finished.stderr, facts.stderr_total),
        parsed,
        files,
        refused,
        left,
    )


def _stream(fd: int, total: int) -> Stream:
    data = os.pread(fd, os.fstat(fd).st_size, 0)
    return Stream(data, total, total > len(data))
