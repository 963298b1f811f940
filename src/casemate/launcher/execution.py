"""One sandbox and its one execution, as the keeper sees it: a state machine driven by descriptors and a clock.

    BUILDING ──Standing──► LOCKING ──Locked──► RUNNING ──exit, limit, cancel──► ENDING ──empty──► done
        └──────────────────────┴──── Fault, end of file, time ────────────────────┘

What ends an execution is latched once: the first cause counts. Every cause is a fact that the keeper saw itself: a
status from waitid (told by the template, which never runs untrusted code), a counter of a cgroup, its own clock, the
number of bytes in a pipe. Nothing here looks into what the guest wrote.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable
from enum import Enum

from . import capture, cgroups, spec

SETUP_TIMEOUT = 20.0
EMPTY_TIMEOUT = 20.0
CPU_POLL = 0.05


class Phase(Enum):
    """See the module's diagram."""

    BUILDING = 1
    LOCKING = 2
    RUNNING = 3
    ENDING = 4
    DONE = 5


class Execution:
    """`watch(fd, handler)` and `forget(fd)` come from the keeper's loop; `tell` sends to the caller."""

    def __init__(
        self, run: spec.Run, group: cgroups.Group | None, template: spec.Channel, sink: int,
        watch: Callable[[int, Callable[[], None]], None], forget: Callable[[int], None],
        tell: Callable[[spec.Message, tuple[int, ...]], None],
    ) -> None:  # fmt: skip
        self.run = run
        self.group = group
        self.phase = Phase.BUILDING
        self._template = template
        self._sink = sink
        self._watch, self._forget, self._tell = watch, forget, tell
        self._init, self.init_end = spec.pair()
        self._init.sock.setblocking(False)
        self._setup: spec.Channel | None = None
        self._streams = [
            capture.Stream("stdout", run.bounds.stdout), capture.Stream("stderr", run.bounds.stderr),
            capture.Stream("report", run.bounds.report),
        ]  # fmt: skip
        self._pidfds: list[int] = []
        self._workdir = -1
        self._guest = False
        self._exited: spec.Exited | None = None
        self._layers: tuple[spec.Layer, ...] = ()
        self._reason, self._limit, self._fault = "", "", ""
        now = time.monotonic()
        self._began = now
        self._started = self._stopped = 0.0
        self._setup_deadline = now + SETUP_TIMEOUT
        self._cpu_check = now
        self._stdin = -1
        self._guest_cgroups: tuple[int, ...] = ()
        watch(self._init.fileno(), self._on_init)

    # --- building ------------------------------------------------------------------------------------------------

    def begin(self, stdin: int, guest_cgroups: tuple[int, ...]) -> None:
        """The zygote has been told; `stdin` and the guest's cgroup files are ours to close."""
        self._stdin = stdin
        self._guest_cgroups = guest_cgroups
        self.init_end.close()

    def _on_init(self) -> None:
        try:
            received = self._init.receive()
        except BlockingIOError:
            return
        except (spec.WireError, OSError) as error:
            received = None
            self._blame(f"init: {error}")
        if received is None:
            self._close_init()
            if self.phase in (Phase.BUILDING, Phase.LOCKING):
                self._blame("the sandbox ended while it was built")
            return
        message, descriptors = received
        if isinstance(message, spec.Standing) and len(descriptors) == 3 and self.phase is Phase.BUILDING:
            self._pidfds, self._workdir = descriptors[:2], descriptors[2]
            self._layers = message.layers
            for fd in self._pidfds:
                self._watch(fd, self._on_death)
            self._fork_guest()
            return
        spec.close_all(descriptors)
        self._blame(message.message if isinstance(message, spec.Fault) else f"init said {message.kind}")

    def _fork_guest(self) -> None:
        ours, theirs = spec.pair()
        ours.sock.setblocking(False)
        self._setup = ours
        self._watch(ours.fileno(), self._on_setup)
        run = self.run
        identity = any(layer.name == "init.identity" and layer.detail == "own uid" for layer in self._layers)
        message = spec.Guest(run.id, run.entry, identity, run.job, run.walls)
        out, err, report = (stream.write for stream in self._streams)
        try:
            self._template.send(
                message, (self._pidfds[1], self._stdin, out, err, report, theirs.fileno(), *self._guest_cgroups)
            )
        except OSError as error:
            self._blame(f"the template is gone: {error}")
        else:
            self._guest = True
            self.phase = Phase.LOCKING
        theirs.close()
        for stream in self._streams:
            stream.close_write()
            self._watch(stream.read, lambda stream=stream: self._on_stream(stream))  # type: ignore[misc]

    def _on_setup(self) -> None:
        assert self._setup is not None
        try:
            received = self._setup.receive()
        except BlockingIOError:
            return
        except (spec.WireError, OSError) as error:
            received = None
            self._blame(f"guest: {error}")
        message = received[0] if received else None
        if received:
            spec.close_all(received[1])
        self._forget(self._setup.fileno())
        self._setup.close()
        self._setup = None
        if isinstance(message, spec.Locked) and self.phase is Phase.LOCKING:
            self.phase = Phase.RUNNING
            try:
                self._layers += (*message.layers, *self._see_cgroup())
            except OSError as error:
                self._blame(str(error))
                return
            self._started = time.monotonic()
            self._tell(spec.Started(self.run.id), ())
        elif isinstance(message, spec.Fault):
            self._blame(message.message)
        else:
            self._blame("the guest ended before it was locked down")

    def _see_cgroup(self) -> tuple[spec.Layer, ...]:
        """Init, the execution's first process and the guest must be in the sandbox's groups, and the limits set."""
        if self.group is None:
            return ()
        version = "/".join(sorted({f"v{v}" for v in self.group.versions()}))
        counts = self.group.populations()
        # The guest alone in exec-1; init and exec in init.
        if any(count != 1 for count in counts["exec-1"]) or any(count != 2 for count in counts["init"]):
            raise OSError(f"cgroup: found {counts} processes where three should be")
        return (spec.Layer("keeper.cgroup", True, f"{version}: {self.group.limits()}"),)

    # --- running -------------------------------------------------------------------------------------------------

    def _on_stream(self, stream: capture.Stream) -> None:
        fd = stream.read
        stream.drain(self._sink, once=True)
        if not stream.open:
            self._forget(fd)
        if stream.total > stream.bound and (stream.name == "report" or self.run.bounds.kill_on_output):
            self._end("limit", f"{stream.name}_bytes")

    def on_exited(self, message: spec.Exited) -> None:
        """The template reaped the guest."""
        self._exited = message
        if self.phase is Phase.RUNNING:
            if message.signal == signal.SIGKILL and self._oom():
                self._end("limit", "memory")
            elif message.signal == signal.SIGXCPU or 0 < self.run.bounds.cpu <= self._cpu():
                self._end("limit", "cpu_time")
            else:
                self._end("signaled" if message.signal else "exited")
        elif self.phase is Phase.LOCKING and self._setup is None:
            self._blame("the guest ended before it was locked down")
        self._settle()

    def on_refused(self, why: str) -> None:
        """The template could not fork the guest."""
        self._guest = False
        self._blame(why)
        self._settle()

    def on_template_gone(self) -> None:
        """No one will tell us of the guest's status any more."""
        self._guest = False
        self._blame("the template ended")

    def cancel(self) -> None:
        """The caller does not want it any more."""
        self._end("cancelled")

    def next_time(self) -> float:
        """Monotonic time of the next thing to look at."""
        bounds = self.run.bounds
        if self.phase in (Phase.BUILDING, Phase.LOCKING):
            return self._setup_deadline
        if self.phase is Phase.RUNNING:
            times = [self._wall_deadline()]
            if bounds.gate and not self._streams[2].total:
                times.append(self._started + bounds.gate)
            if self.group is not None:
                times.append(self._cpu_check + CPU_POLL)
            return min(times)
        return time.monotonic() + 0.02

    def on_time(self, now: float) -> None:
        """Look at the clocks."""
        if self.phase in (Phase.BUILDING, Phase.LOCKING):
            if self.run.deadline and now >= self.run.deadline:
                self._end("limit", "wall_time")
            elif now >= self._setup_deadline:
                self._blame("the sandbox was not ready in time")
        elif self.phase is Phase.RUNNING:
            if now >= self._wall_deadline():
                self._end("limit", "wall_time")
            elif self.run.bounds.gate and not self._streams[2].total and now >= self._started + self.run.bounds.gate:
                # The first record is the gate's; what it says is not our business, that it came is.
                self._end("limit", "wall_time")
            elif self.group is not None and now >= self._cpu_check + CPU_POLL:
                self._cpu_check = now
                if 0 < self.run.bounds.cpu <= self._cpu():
                    self._end("limit", "cpu_time")
                elif self._oom():
                    # A child that the kernel killed for memory: the program is not what it was, whatever it does next.
                    self._end("limit", "memory")
        elif self.phase is Phase.ENDING:
            self._settle()

    def _wall_deadline(self) -> float:
        wall = self._started + self.run.bounds.wall
        return min(wall, self.run.deadline) if self.run.deadline else wall

    def _cpu(self) -> float:
        return self.group.cpu_seconds() if self.group else self._exited.cpu if self._exited else -1.0

    def _oom(self) -> bool:
        return self.group is not None and self.group.oom_kills() > 0

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
        for fd in self._pidfds:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(fd, signal.SIGKILL)
        if self.group is not None:
            self.group.kill()
        # A sandbox that never stood ends with its channel.
        self._close_init()

    def _on_death(self) -> None:
        for fd in self._dead():
            self._forget(fd)
        if self.phase is not Phase.ENDING and self._dead():
            if self._exited is None and self.phase is Phase.RUNNING:
                # Init or exec died first. If the kernel chose it for memory, that is the program's doing.
                self._end(*(("limit", "memory") if self._oom() else ("lost", "")))
            elif self.phase in (Phase.BUILDING, Phase.LOCKING):
                self._blame("the sandbox's init died")
        self._settle()

    def _dead(self) -> list[int]:
        return [fd for fd in self._pidfds if select.select([fd], [], [], 0)[0]]

    def _settle(self) -> None:
        """If nothing of it lives any more, take what is left in the pipes and tell the caller."""
        if self.phase is not Phase.ENDING:
            return
        late = time.monotonic() > self._stopped + EMPTY_TIMEOUT
        if not late:
            if len(self._dead()) < len(self._pidfds) or (self._guest and self._exited is None):
                return
            if self.group is not None and self.group.members():
                self.group.kill()
                return
        self.phase = Phase.DONE
        if late:
            self._reason, self._fault = "fault", "the sandbox could not be emptied"
        for stream in self._streams:
            if stream.open:
                self._forget(stream.read)
                stream.drain(self._sink, once=False)
        self._report()
        self._close()

    def _report(self) -> None:
        run, exited = self.run, self._exited
        if self._reason == "fault":
            self._tell(spec.Fault(run.id, self._fault or "unknown"), ())
            return
        group = self.group
        cpu = group.cpu_seconds() if group else exited.cpu if exited else -1.0
        out, err, report = self._streams
        descriptors = [out.kept, err.kept, report.kept] + ([self._workdir] if self._workdir >= 0 else [])
        ended = spec.Ended(
            id=run.id, reason=self._reason, limit=self._limit,
            exit_code=exited.exit_code if exited and not exited.signal else -1, signal=exited.signal if exited else 0,
            wall=self._stopped - (self._started or self._began), cpu=cpu,
            memory_peak=group.memory_peak() if group else -1, processes_peak=group.processes_peak() if group else -1,
            refused=self._refusals(),
            stdout_total=out.total, stderr_total=err.total, report_total=report.total, layers=self._layers,
        )  # fmt: skip
        self._tell(ended, tuple(descriptors))

    def _refusals(self) -> tuple[str, ...]:
        """Limits that were met and are seen from outside; the tmpfs as it was left."""
        refused = ["processes"] if self.group and self.group.refused_forks() else []
        if self._workdir >= 0:
            left = os.fstatvfs(self._workdir)
            refused += [name for name, free in (("disk_bytes", left.f_bfree), ("inodes", left.f_ffree)) if free == 0]
        return tuple(refused)

    def _close_init(self) -> None:
        if self._init.fileno() >= 0:
            self._forget(self._init.fileno())
            self._init.close()

    def _close(self) -> None:
        self._close_init()
        if self._setup is not None:
            self._forget(self._setup.fileno())
            self._setup.close()
            self._setup = None
        for stream in self._streams:
            stream.close()
        for fd in (*self._pidfds, *self._guest_cgroups):
            self._forget(fd)
            os.close(fd)
        for fd in (self._workdir, self._stdin):
            if fd >= 0:
                os.close(fd)
        self._pidfds, self._guest_cgroups, self._workdir, self._stdin = [], (), -1, -1
