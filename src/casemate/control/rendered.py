"""What the rows of a profile become in the words of the launcher."""

from __future__ import annotations

import functools
import math

from casemate.policy import Plan
from casemate.policy.limits import applicable
from casemate.runtime import seccomp
from casemate.runtime.rooms import Bounds, Walls

PIDS_FIRST = 8
"""By how much RLIMIT_NPROC is above pids.max, which counts its refusals where we can see them."""

CPU_FIRST = 1.25
"""How many times the bound RLIMIT_CPU is where the cgroup counts CPU time. The kernel checks it at ticks, which may be
ahead of what was used; so who it killed could not be told from who killed itself."""


def cpu_seconds(limit: float, *, cgroups: bool) -> int:
    """RLIMIT_CPU of each process for a bound on CPU time."""
    return math.ceil(limit * CPU_FIRST) + 1 if cgroups else max(1, round(limit))


def budgets(plan: Plan) -> tuple[tuple[str, float], ...]:
    """Seconds of the stages that have a budget."""
    stages = plan.profile.stages
    given = (("handover", stages.handover), ("step", stages.step), ("facts", stages.facts))
    return tuple((name, seconds) for name, seconds in given if not isinstance(seconds, str))


def walls(plan: Plan, *, traced: bool) -> Walls:
    """The inner wall; `traced`: with a filter that refuses next to nothing (control/tracing.py)."""
    profile, limits = plan.profile, plan.profile.limits
    up = profile.network.loopback == "up"
    return Walls(
        disk_bytes=limits.disk_bytes, inodes=limits.inodes, open_files=limits.open_files, file_size=limits.file_size,
        address_space=limits.address_space, data=limits.data,
        processes=limits.processes + (PIDS_FIRST if plan.cgroups else 0),
        cpu_seconds=cpu_seconds(limits.cpu_time, cgroups=plan.cgroups),
        seccomp=seccomp.compiled(
            profile.kernel.syscalls, unix=limits.sockets > 0, inet=up, pty=profile.devices.pty, traced=traced
        ),
        landlock=profile.kernel.landlock == "required", writable=bool(profile.filesystem.writable),
        exec_image=_executes(profile.kernel.syscalls), exec_writable=profile.filesystem.exec_writable,
        sockets=limits.sockets > 0, loopback=up, pty=profile.devices.pty, masked=profile.proc.view == "masked",
        environment=profile.environment.variables,
    )  # fmt: skip


@functools.cache
def _executes(calls: str) -> bool:
    return "execve" in seccomp.load(calls).calls


def bounds(plan: Plan) -> Bounds:
    """What the keeper holds an execution to."""
    limits = plan.profile.limits
    return Bounds(
        wall=limits.wall_time, gate=float(applicable(plan.profile.stages.gate)), cpu=limits.cpu_time,
        memory=limits.memory, processes=limits.processes, cpus=limits.cpus, stdout=limits.stdout_bytes,
        stderr=limits.stderr_bytes, report=limits.report_bytes, kill_on_output=limits.output_overflow == "kill",
        cgroup=plan.cgroups,
    )  # fmt: skip
