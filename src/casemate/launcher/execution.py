"""One execution, as the keeper sees it: a state machine driven by descriptors and a clock.

    PREPARING ──ready──► READY ──give()──► RUNNING ──exit, limit, cancel──► ENDING ──empty──► DONE
        └──────── fault, time ──┴──────────────────────────────────────────────┘

It is prepared for a kind of job (a room, a template, walls, bounds) and waits, locked down and looked at from outside,
until it is given one. What ends it is latched once: the first cause counts. Every cause is a fact that the keeper saw
itself: a status from waitid (told by the template, which never runs untrusted code), a counter of a cgroup, its own
clock, the number of bytes in a pipe. Nothing here looks into what the guest wrote.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import time
from collections.abc import Callable
from enum import Enum

from . import capture, cgroups, outside, spec, syscalls
from .meter import Meter
from .preparation import Kind, Loop, Preparation

SETUP_TIMEOUT = 20.0
EMPTY_TIMEOUT = 20.0
CPU_POLL = 0.05


class Phase(Enum):
    """See the module's diagram."""

    PREPARING = 1
    READY = 2
    RUNNING = 3
    ENDING = 4
    DONE = 5


class Execution:
    """`uid` is the host uid that its guest must have; `stirred` is called before each thing that happens to it."""

    def __init__(
        self, name: str, kind: Kind, uid: int, group: cgroups.Group | None, template: spec.Channel, loop: Loop,
        stirred: Callable[[], None],
    ) -> None:  # fmt: skip
        self.name = name
        self.kind = kind
        self.group = group
        self.phase = Phase.PREPARING
        self.run: spec.Run | None = None
        outer = loop.watch
        loop = dataclasses.replace(loop, watch=lambda fd, handler: outer(fd, self.guarded(handler)))
        self._loop, self._stirred = loop, stirred
        bounds = kind.bounds
        with contextlib.ExitStack() as opened:
            wanted = (("stdout", bounds.stdout, uid), ("stderr", bounds.stderr, uid), ("report", bounds.report, -1))
            streams = [opened.enter_context(contextlib.closing(capture.Stream(*one))) for one in wanted]
            out, err, report = (stream.write for stream in streams)
            self._made = Preparation(name, kind, uid, group, template, loop, (out, err, report), self._advance)
            opened.pop_all()
        self._streams = streams
        self._meter = Meter(bounds, self.group, streams[2])
        self._watched = False
        self._exited: spec.Exited | None = None
        self._reason, self._limit, self._fault = "", "", ""
        self.began = time.monotonic()
        self._started = self._stopped = 0.0
        self._setup_deadline = self.began + SETUP_TIMEOUT
        self._cpu_check = self.began
        self._stdin = -1

    @property
    def state(self) -> tuple[object, ...]:
        """What the stock looks at; it has nothing new to decide while this is what it was."""
        return self.phase, self.run is None, self.held, self.prefaulting, self.prefaulted

    @property
    def age(self) -> float:
        """Seconds since it was begun."""
        return time.monotonic() - self.began

    @property
    def usable(self) -> bool:
        """True until it ends."""
        return self.phase in (Phase.PREPARING, Phase.READY)

    @property
    def waiting(self) -> bool:
        """True while it is ready and has no job."""
        return self.run is None and self.phase is Phase.READY

    def sound(self) -> bool:
        """False if a process that it needs is gone, whether or not that has been told yet."""
        return self._made.sound()

    @property
    def held(self) -> int:
        """Bytes of memory that are its own while it waits; 0 before it is ready."""
        return self._made.held

    @property
    def prefaulting(self) -> bool:
        """True while it copies the pages that a job is going to write."""
        return self._made.prefaulting

    @property
    def prefaulted(self) -> bool:
        """True once it has done so."""
        return self._made.prefaulted

    def prefault(self) -> None:
        """While it waits: see Preparation."""
        self.guarded(self._made.prefault)()

    @property
    def failed(self) -> bool:
        """True if it ended by our own fault."""
        return self._reason == "fault"

    @property
    def forked(self) -> bool:
        """True while the template owes us word of a guest's end."""
        return self._made.forked and self._exited is None

    @property
    def workdir(self) -> str:
        """The job directory as seen inside."""
        return self._made.workdir

    @property
    def namespaces(self) -> set[str]:
        """The guest's, once it was looked at."""
        return self._made.namespaces

    @property
    def init_end(self) -> spec.Channel:
        """For init."""
        return self._made.init_end

    def guarded(self, handler: Callable[[], None]) -> Callable[[], None]:
        """The handler, so that what fails in it ends this execution and no other."""

        def run() -> None:
            self._stirred()
            try:
                handler()
            except (OSError, ValueError) as error:
                self._blame(str(error))

        return run

    # --- preparing -----------------------------------------------------------------------------------------------

    def begin(self, guest_cgroups: tuple[int, ...]) -> None:
        """The zygote has been told; the guest's cgroup files are ours to close."""
        self._made.begin(guest_cgroups)

    def give(self, run: spec.Run, stdin: int, inputs: tuple[int, ...]) -> None:
        """Its one job: now if it is ready, else when it is. `stdin` and `inputs` are ours to close."""
        assert self.run is None
        self.run = run
        self._stdin = stdin
        self._setup_deadline = time.monotonic() + SETUP_TIMEOUT
        self._made.place(run.job.inputs, inputs)
        self._advance()

    def _advance(self) -> None:
        """Something about the preparation changed."""
        made = self._made
        if made.forked and not self._watched:
            self._watched = True
            for fd in made.pidfds:
                self._loop.watch(fd, self._on_death)
            for stream in self._streams:
                stream.close_write()
                self._loop.watch(stream.read, lambda stream=stream: self._on_stream(stream))  # type: ignore[misc]
        if self.phase is Phase.RUNNING and made.fault:
            self._lose()
        if self.phase not in (Phase.PREPARING, Phase.READY):
            return
        if made.fault:
            self._blame(made.fault)
        elif made.ready:
            self.phase = Phase.READY
            if self.run is not None and made.placed:
                self._start(self.run)

    def _start(self, run: spec.Run) -> None:
        try:
            self._made.hand_over(run.entry, dataclasses.replace(run.job, workdir=self.workdir), self._stdin)
        except OSError as error:
            self._blame(f"the guest is gone: {error}")
            return
        os.close(self._stdin)
        self._stdin = -1
        self.phase = Phase.RUNNING
        self._started = time.monotonic()
        self._meter.begin()
        self._loop.tell(spec.Started(run.id), ())

    # --- running -------------------------------------------------------------------------------------------------

    def _on_stream(self, stream: capture.Stream) -> None:
        fd = stream.read
        stream.drain(self._loop.sink, once=True)
        if not stream.open:
            self._loop.forget(fd)
        if limit := self._meter.exceeded(stream):
            self._end("limit", limit)

    def on_exited(self, message: spec.Exited) -> None:
        """The template reaped the guest."""
        self._exited = message
        if self.phase is Phase.RUNNING:
            if self._meter.out_of_memory():
                self._end("limit", "memory")
            elif self._meter.ended_by_cpu(message, self.run):
                self._end("limit", "cpu_time")
            elif message.signal == signal.SIGKILL and any(map(outside.ending, self._made.pidfds)):
                self._end("lost")  # it went with its sandbox
            else:
                self._end("signaled" if message.signal else "exited")
        elif self.phase in (Phase.PREPARING, Phase.READY):
            self._blame("the guest ended before it had a job")
        self._settle()

    def on_refused(self, why: str) -> None:
        """The template could not fork the guest."""
        self._made.forked = False
        self._blame(why)
        self._settle()

    def on_template_gone(self) -> None:
        """No one will tell us of the guest's status any more."""
        self._made.forked = False
        self._blame("the template ended")

    def cancel(self) -> None:
        """The caller does not want it any more."""
        self._end("cancelled")

    def next_time(self, now: float) -> float:
        """Monotonic time of the next thing to look at."""
        bounds = self.kind.bounds
        if self.phase is Phase.READY and self.run is None:
            return now + 5.0
        if self.phase in (Phase.PREPARING, Phase.READY):
            deadline = self.run.deadline if self.run else 0.0
            return min(self._setup_deadline, deadline) if deadline else self._setup_deadline
        if self.phase is Phase.RUNNING:
            times = [self._wall_deadline()]
            if self._meter.gated(self.run):
                times.append(self._started + bounds.gate)
            if self.group is not None:
                times.append(self._cpu_check + CPU_POLL)
            return min(times)
        return now + 0.02

    def on_time(self, now: float) -> None:
        """Look at the clocks."""
        if self.phase is Phase.PREPARING or (self.phase is Phase.READY and self.run is not None):
            if self.run is not None and self.run.deadline and now >= self.run.deadline:
                self._end("limit", "wall_time")
            elif now >= self._setup_deadline:
                self._blame("the sandbox was not ready in time")
        elif self.phase is Phase.RUNNING:
            if now >= self._wall_deadline():
                self._end("limit", "wall_time")
            elif self._meter.gated(self.run) and now >= self._started + self.kind.bounds.gate:
                # The gate has not spoken within its own time.
                self._end("limit", "wall_time")
            elif self.group is not None and now >= self._cpu_check + CPU_POLL:
                self._cpu_check = now
                if self._meter.out_of_cpu():
                    self._end("limit", "cpu_time")
                elif self._meter.out_of_memory():
                    # A child that the kernel killed for memory: the program is not what it was, whatever it does next.
                    self._end("limit", "memory")
        elif self.phase is Phase.ENDING:
            self._settle()

    def _wall_deadline(self) -> float:
        wall = self._started + self.kind.bounds.wall
        return min(wall, self.run.deadline) if self.run and self.run.deadline else wall

    # --- ending --------------------------------------------------------------------------------------------------

    def _blame(self, message: str) -> None:
        """Our own fault: no verdict about the program."""
        if not self._reason:
            self._fault = message
        self._end("fault")

    def _end(self, reason: str, limit: str = "") -> None:
        if self.phase in (Phase.ENDING, Phase.DONE):
            return
        self._reason, self._limit = reason, limit
        self._stopped = time.monotonic()
        self.phase = Phase.ENDING
        self._kill()
        self._settle()

    def _kill(self) -> None:
        for fd in self._made.pidfds:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(fd, signal.SIGKILL)
        if self.group is not None:
            self.group.kill()
        # A sandbox that never stood ends with its channel.
        self._made.close_init()

    def _lose(self) -> None:
        """Init or exec failed first. If the kernel chose it for memory, that is the program's doing."""
        self._end(*(("limit", "memory") if self._meter.out_of_memory() else ("lost", "")))

    def _on_death(self) -> None:
        for fd in self._dead():
            self._loop.forget(fd)
        if self.phase is not Phase.ENDING and self._dead():
            if self._exited is None and self.phase is Phase.RUNNING:
                self._lose()
            elif self.phase in (Phase.PREPARING, Phase.READY):
                self._blame("the sandbox's init died")
        self._settle()

    def _dead(self) -> list[int]:
        return [fd for fd in self._made.pidfds if syscalls.readable(fd)]

    def _settle(self) -> None:
        """If nothing of it lives any more, take what is left in the pipes and tell the caller."""
        if self.phase is not Phase.ENDING:
            return
        late = time.monotonic() > self._stopped + EMPTY_TIMEOUT
        if not late:
            if len(self._dead()) < len(self._made.pidfds) or self.forked:
                return
            if self.group is not None and any(map(any, self.group.processes().values())):
                self.group.kill()
                return
        self.phase = Phase.DONE
        if late:
            self._reason, self._fault = "fault", "the sandbox could not be emptied"
        for stream in self._streams:
            if stream.open:
                self._loop.forget(stream.read)
                stream.drain(self._loop.sink, once=False)
            if self._reason in ("exited", "signaled") and (limit := self._meter.exceeded(stream)):
                self._reason, self._limit = "limit", limit  # it wrote that before it ended
        self._report()
        self.close()

    def _report(self) -> None:
        run, exited = self.run, self._exited
        if run is None:
            return
        if self._reason == "fault":
            self._loop.tell(spec.Fault(run.id, self._fault or "unknown", begun=self._started > 0), ())
            return
        out, err, report = self._streams
        workdir = self._made.workdir_fd
        descriptors = [out.kept, err.kept, report.kept, *([workdir] if workdir >= 0 else [])]
        used = self._meter.used(exited, workdir)
        ended = spec.Ended(
            id=run.id, reason=self._reason, limit=self._limit,
            exit_code=exited.exit_code if exited and not exited.signal else -1, signal=exited.signal if exited else 0,
            wall=self._stopped - (self._started or self.began), teardown=time.monotonic() - self._stopped,
            cpu=used.cpu, memory_peak=used.memory_peak, processes_peak=used.processes_peak,
            disk_bytes=used.disk_bytes, refused=used.refused,
            stdout_total=out.total, stderr_total=err.total, report_total=report.total, layers=self._made.layers,
        )  # fmt: skip
        self._loop.tell(ended, tuple(descriptors))

    def close(self) -> None:
        """Let go of everything."""
        self._made.close()
        for stream in self._streams:
            stream.close()
        if self._stdin >= 0:
            os.close(self._stdin)
            self._stdin = -1
