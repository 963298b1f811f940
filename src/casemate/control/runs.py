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
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field

from casemate.control import outcomes
from casemate.control.deadline import Deadline
from casemate.control.leases import LOCAL, Leases
from casemate.errors import SandboxFault
from casemate.model import Artifact, Limit, Part, Reason, RunResult, Stream
from casemate.policy import Plan
from casemate.policy.limits import number
from casemate.runtime import artifacts, report, seccomp, workspace
from casemate.runtime.connection import Finished, NotBegun
from casemate.runtime.images import Image
from casemate.runtime.rooms import Bounds, Ended, GuestJob, Standing, Walls

PIDS_FIRST = 8
"""By how much RLIMIT_NPROC is above pids.max, which counts its refusals where we can see them."""
SCRIPT, CHECK, INSPECT = "casemate.guest.script:run", "casemate.guest.script:check", "casemate.guest.inspect:run"


@dataclass(frozen=True, slots=True)
class Request:
    """What a caller asks for. `gate` False is for tests: no profile and no public call can say it."""

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
        budgets = dict(_budgets(request.plan))
        progress("gate")
        first = _execute(request, ground, standing, f"{name}-1", end, cancellation, progress, inspecting=None)
        outcome = outcomes.of_script(
            first.facts, first.report, gated=request.gate, check_only=request.check_only, budgets=budgets
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


def demand(request: Request, ground: Standing) -> None:
    """Have sandboxes for requests like this one built before the first comes."""
    ground.demand(_walls(request.plan, traced=request.traced), _bounds(request.plan))


def _execute(
    request: Request, ground: Standing, again: Callable[[], Standing], name: str, end: float,
    cancellation: Cancellation, progress: Callable[[str], None], *,
    inspecting: tuple[report.HandoverRecord, Mapping[str, Artifact]] | None,
) -> Executed:  # fmt: skip
    """One sandbox, one execution: build, run, stop, collect, let go."""
    profile = request.plan.profile
    if inspecting is None:
        source, inputs = request.source, dict(request.inputs)
        stage, entry = ("check", CHECK) if request.check_only else ("script", SCRIPT)
        if request.claimed:
            stage = "claimed"
    else:
        record, files = inspecting
        manifest = json.dumps(
            [part.model_dump(exclude={"omitted": True, "files": {"__all__": {"omitted"}}}) for part in record.parts]
        )
        source, inputs = b"", {"manifest.json": manifest.encode(), **{n: a.data for n, a in files.items()}}
        stage, entry = "inspect", INSPECT
    gated = request.gate and inspecting is None
    with workspace.sealed(source, *inputs.values()) as descriptors:

        def attempt(ground: Standing, name: str) -> Finished:
            job = GuestJob(
                id=name, stage=stage, gate=profile.gate.rules if request.gate else None, workdir=f"/tmp/job-{name}",
                inputs=tuple(inputs), address_space=number(profile.stages.gate_memory), address_space_after=0,
                cpu_after=0, budgets=_budgets(request.plan),
            )  # fmt: skip
            future = ground.start(
                name=name, entry=entry, job=job, walls=_walls(request.plan, traced=request.traced),
                bounds=_bounds(request.plan), gated=gated, deadline=end, descriptors=descriptors,
                started=lambda: progress("script" if inspecting is None else "step"),
            )  # fmt: skip
            return _wait(future, lambda: ground.connection.cancel(name), cancellation)

        try:
            finished = attempt(ground, name)
        except NotBegun:
            # The room fell between the asking and the answer. Making another is not the program's time.
            failed = time.monotonic()
            try:
                other = again()
            except TimeoutError as error:
                raise SandboxFault(str(error)) from None
            end += time.monotonic() - failed
            end = min(end, request.deadline.at) if request.deadline else end
            try:
                finished = attempt(other, f"{name}-again")
            finally:
                other.release()
    try:
        return _collect(finished, request, request.claimed or inspecting is not None)
    finally:
        finished.close()


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


def _collect(finished: Finished, request: Request, inspected: bool) -> Executed:
    facts = finished.facts
    parsed = report.parse(os.pread(finished.report, request.plan.profile.limits.report_bytes, 0))
    files: dict[str, Artifact] = {}
    refused: artifacts.Refused | None = None
    if finished.workdir is not None and facts.reason == "exited" and facts.exit_code == 0:
        limits = request.plan.profile.limits
        collector = artifacts.Collector(
            finished.workdir, count=limits.artifact_count, each=limits.artifact_bytes, total=limits.artifact_total_bytes
        )
        if inspected:
            wanted = [part.file for part in parsed.parts if part.file is not None]
        else:
            wanted = [file.file for part in parsed.handover.parts for file in part.files] if parsed.handover else []
        try:
            for file in wanted:
                if file in files:
                    raise artifacts.Refused(f"{file}: named twice")
                files[file] = collector.take(f"out/{file}", file)
        except artifacts.Refused as error:
            files, refused = {}, error
    return Executed(
        facts,
        _stream(finished.stdout, facts.stdout_total),
        _stream(finished.stderr, facts.stderr_total),
        parsed,
        files,
        refused,
    )


def _stream(fd: int, total: int) -> Stream:
    data = os.pread(fd, os.fstat(fd).st_size, 0)
    return Stream(data, total, total > len(data))


def _budgets(plan: Plan) -> tuple[tuple[str, float], ...]:
    stages = plan.profile.stages
    return (("handover", number(stages.handover)), ("step", number(stages.step)), ("facts", number(stages.facts)))


def _walls(plan: Plan, *, traced: bool) -> Walls:
    profile, limits = plan.profile, plan.profile.limits
    return Walls(
        disk_bytes=limits.disk_bytes, inodes=limits.inodes, open_files=limits.open_files, file_size=limits.file_size,
        address_space=limits.address_space, data=limits.data,
        processes=limits.processes + (PIDS_FIRST if plan.cgroups else 0),
        cpu_seconds=max(1, round(limits.cpu_time)),
        seccomp=seccomp.compiled(
            profile.kernel.syscalls, unix=limits.sockets > 0, inet=profile.network.egress != "none", traced=traced
        ),
        landlock=profile.kernel.landlock == "required",
    )  # fmt: skip


def _bounds(plan: Plan) -> Bounds:
    limits = plan.profile.limits
    return Bounds(
        wall=limits.wall_time, gate=number(plan.profile.stages.gate), cpu=limits.cpu_time,
        memory=limits.memory, processes=limits.processes, cpus=limits.cpus, stdout=limits.stdout_bytes,
        stderr=limits.stderr_bytes, report=limits.report_bytes, kill_on_output=limits.output_overflow == "kill",
        cgroup=plan.cgroups,
    )  # fmt: skip
