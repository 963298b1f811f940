"""What a job has used, and which limit it met: by counters outside of it alone.

Where there is a cgroup its counters say it. Where there is none, the template tells what the guest's process took when
it reaped it, and nobody knows what its children did.
"""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass

from . import capture, cgroups, spec

CPU_SLACK = 0.1
"""Seconds by which the kernel's tick may be ahead of the counter that we read (RLIMIT_CPU is checked at ticks)."""
TICK_SHARE = 0.25
"""The same as a share, on a busy host: who happens to run at each tick is counted for all of it. Where a cgroup counts,
RLIMIT_CPU is that far away (control/rendered.py) and never the first to end a job."""


@dataclass(frozen=True, slots=True)
class Used:
    """Seconds, bytes and processes; -1 for what nobody counted. `refused`: limits that were met and did not end it."""

    cpu: float
    memory_peak: int
    processes_peak: int
    disk_bytes: int
    refused: tuple[str, ...]


class Meter:
    """Of one execution, held to `bounds`, whose stages write their records to `report`."""

    def __init__(self, bounds: spec.Bounds, group: cgroups.Group | None, report: capture.Stream) -> None:
        self._bounds, self._group, self._report = bounds, group, report
        self._before = 0.0

    def begin(self) -> None:
        """It has its job: what was used until now is not the program's."""
        self._before = self._group.cpu_seconds() if self._group else 0.0

    def gated(self, run: spec.Run | None) -> bool:
        """True while the gate has yet to speak: the first record is its own, and that it came is all we look at."""
        return bool(run and run.gated and self._bounds.gate and not self._report.total)

    def cpu(self, exited: spec.Exited | None) -> float:
        """Seconds of CPU since it has its job; without a cgroup, of the guest process since its fork."""
        if self._group is not None:
            return max(0.0, self._group.cpu_seconds() - self._before)
        return exited.cpu if exited else -1.0

    def out_of_cpu(self) -> bool:
        """While it runs, which only a cgroup can tell."""
        return 0 < self._bounds.cpu <= self.cpu(None)

    def ended_by_cpu(self, exited: spec.Exited, run: spec.Run | None) -> bool:
        """By the time that was counted outside; a SIGXCPU alone is something that anybody can send to himself."""
        spent = max(self.cpu(exited), exited.cpu)
        gate = self.gated(run) and exited.signal == signal.SIGXCPU and spent >= self._bounds.gate
        killed = self._group is None and exited.signal in (signal.SIGKILL, signal.SIGXCPU)
        slack = max(CPU_SLACK, TICK_SHARE * self._bounds.cpu) if killed else CPU_SLACK
        return gate or 0 < self._bounds.cpu <= spent + slack

    def out_of_memory(self) -> bool:
        """The kernel killed the guest or a child of it for memory."""
        return self._group is not None and self._group.oom_kills() > 0

    def exceeded(self, stream: capture.Stream) -> str:
        """The limit that a stream went past, if that is one which ends the job."""
        ends = stream.name == "report" or self._bounds.kill_on_output
        return f"{stream.name}_bytes" if ends and stream.total > stream.bound else ""

    def used(self, exited: spec.Exited | None, workdir: int) -> Used:
        """All of it, when it is over; `workdir` is a descriptor of its tmpfs, or -1."""
        group = self._group
        left = os.fstatvfs(workdir) if workdir >= 0 else None
        refused = ["processes"] if group and group.refused_forks() else []
        if left:
            refused += [name for name, free in (("disk_bytes", left.f_bfree), ("inodes", left.f_ffree)) if free == 0]
        return Used(
            cpu=self.cpu(exited),
            memory_peak=group.memory_peak() if group else -1,
            processes_peak=max(group.processes_peak() - cgroups.OWN, -1) if group else -1,
            disk_bytes=(left.f_blocks - left.f_bfree) * left.f_frsize if left else -1,
            refused=tuple(refused),
        )
