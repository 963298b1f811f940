"""Builds a sandbox and locks a guest down in it, until that waits for its one job.

    zygote ──► init, exec ──Standing──► template forks the guest ──Locked──► looked at from outside ──► ready

Each event calls `changed`, and the execution looks at `ready`, `placed` and `fault`. What went wrong here is never the
program's doing: there is none yet.
"""

from __future__ import annotations

import os
import select
from collections.abc import Callable
from dataclasses import dataclass, field

from . import cgroups, descriptors, outside, spec


@dataclass(frozen=True, slots=True)
class Kind:
    """What must be the same for an execution to serve a job."""

    room: str
    template: str
    walls: spec.Walls
    bounds: spec.Bounds
    _hash: int = field(init=False, repr=False, compare=False)
    """Taken once: there are as many lookups as sandboxes, and a filter is long."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.room, self.template, self.walls, self.bounds)))

    def __hash__(self) -> int:
        return self._hash


@dataclass(frozen=True, slots=True)
class Loop:
    """What the keeper's loop does for an execution."""

    watch: Callable[[int, Callable[[], None]], None]
    forget: Callable[[int], None]
    tell: Callable[[spec.Message, tuple[int, ...]], None]
    others: Callable[[], set[str]]
    """Namespaces of the other live executions."""
    sink: int
    """A descriptor of /dev/null."""


class Preparation:
    """`uid` is the host uid that the guest must have; `streams` are its stdout, stderr and report."""

    def __init__(
        self, name: str, kind: Kind, uid: int, group: cgroups.Group | None, template: spec.Channel, loop: Loop,
        streams: tuple[int, int, int], changed: Callable[[], None],
    ) -> None:  # fmt: skip
        self.name = name
        self.kind = kind
        self.layers: tuple[spec.Layer, ...] = ()
        self.namespaces: set[str] = set()
        self.pidfds: list[int] = []
        """Of init and of the execution's first process, once they stand."""
        self.workdir_fd = -1
        self.ready = self.placed = self.forked = False
        self.fault = ""
        self.held = 0
        """Bytes of memory of its own when it became ready."""
        self.prefaulting = self.prefaulted = False
        self._pid = 0
        self._uid, self._group = uid, group
        self._template = template
        self._loop = loop
        self._streams = streams
        self._changed = changed
        self._init, self.init_end = spec.pair()
        self._init.sock.setblocking(False)
        self._init.ask_sender()
        self._placing = False
        self._setup: spec.Channel | None = None
        self._guest_cgroups: tuple[int, ...] = ()
        loop.watch(self._init.fileno(), self._on_init)

    @property
    def workdir(self) -> str:
        """The job directory as seen inside."""
        return f"/tmp/job-{self.name}"

    def begin(self, guest_cgroups: tuple[int, ...]) -> None:
        """The zygote has been told; the guest's cgroup files are ours to close."""
        self._guest_cgroups = guest_cgroups
        self.init_end.close()

    def place(self, names: tuple[str, ...], inputs: tuple[int, ...]) -> None:
        """Have init put the job's inputs into its directory, once it stands; the descriptors are ours to close."""
        try:
            if names:
                self._placing = True
                self._init.send(spec.Inputs(names), inputs)
            else:
                self.placed = True
        except OSError as error:
            self._fail(f"init is gone: {error}")
        finally:
            spec.close_all(inputs)

    def sound(self) -> bool:
        """False if init, the execution's first process, the template or the guest has ended."""
        poll = select.poll()
        for channel in (self._init, self._template, *((self._setup,) if self._setup else ())):
            poll.register(channel, 0)  # the end of the other side is always told (poll(2))
        for fd in self.pidfds:
            poll.register(fd, select.POLLIN)
        return not poll.poll(0)

    def hand_over(self, entry: str, job: spec.GuestJob, stdin: int) -> None:
        """Give the guest its job and close the channel to it; raises OSError if it is gone."""
        assert self._setup is not None
        self._setup.send(spec.Job(entry, job), (stdin,))
        self.close_setup()

    def prefault(self) -> None:
        """Have the guest copy the pages that a job is going to write; it breaks off when its job comes."""
        assert self._setup is not None
        self.prefaulting = True
        self._setup.send(spec.Prefault(self.name))

    def _fail(self, why: str) -> None:
        self.fault = self.fault or why
        self._changed()

    def _on_init(self) -> None:
        try:
            received = self._init.receive()
        except BlockingIOError:
            return
        except (spec.WireError, OSError) as error:
            self.close_init()
            self._fail(f"init: {error}")
            return
        if received is None:
            self.close_init()
            self._fail("the sandbox ended while it was built")
            return
        message, rights = received
        if isinstance(message, spec.Standing) and message.id == self.name and len(rights) == 3 and not self.pidfds:
            self._stand(message, rights)
            return
        descriptors.discard(rights)
        if isinstance(message, spec.Placed) and message.id == self.name and self._placing:
            self._placing, self.placed = False, True
            self._changed()
            return
        self._fail(message.message if isinstance(message, spec.Fault) else f"init said {message.kind}")

    def _stand(self, message: spec.Standing, rights: list[int]) -> None:
        """Take the sandbox's descriptors, if they are what they must be: the two processes are going to be killed."""
        try:
            outside.stands((rights[0], rights[1]), rights[2], self._init.sender)
        except (OSError, outside.Unlike) as error:
            descriptors.discard(rights)
            self._fail(f"init: {error}")
            return
        self.pidfds, self.workdir_fd = rights[:2], rights[2]
        self.layers = message.layers
        self._fork_guest()
        self._changed()

    def _fork_guest(self) -> None:
        ours, theirs = spec.pair()
        ours.sock.setblocking(False)
        ours.ask_sender()
        self._setup = ours
        self._loop.watch(ours.fileno(), self._on_setup)
        identity = any(layer.name == "init.identity" and layer.detail == "own uid" for layer in self.layers)
        message = spec.Guest(self.name, identity, self.workdir, self.kind.walls)
        try:
            self._template.send(message, (self.pidfds[1], *self._streams, theirs.fileno(), *self._guest_cgroups))
            self.forked = True
        except OSError as error:
            self._fail(f"the template is gone: {error}")
        finally:
            theirs.close()
            spec.close_all(self._guest_cgroups)
            self._guest_cgroups = ()

    def _on_setup(self) -> None:
        setup = self._setup
        assert setup is not None
        try:
            received = setup.receive()
        except BlockingIOError:
            return
        except (spec.WireError, OSError) as error:
            self.close_setup()
            self._fail(f"guest: {error}")
            return
        message = received[0] if received else None
        if received:
            descriptors.discard(received[1])
        if isinstance(message, spec.Locked) and message.id == self.name and not self.ready:
            self._pid = setup.sender
            self._see(message.layers)
            return
        if isinstance(message, spec.Prefaulted) and self.prefaulting and setup.sender == self._pid:
            self.prefaulting, self.prefaulted = False, True
            self._see(())
            return
        self.close_setup()
        self._fail(message.message if isinstance(message, spec.Fault) else "the guest ended before it had a job")

    def _see(self, layers: tuple[spec.Layer, ...]) -> None:
        """Look at the guest from outside; only then is it ready for a job."""
        try:
            others = self._loop.others() - self.namespaces
            seen, self.namespaces = outside.examine(self._pid, self._group, self._uid, others)
            told = (*layers, seen, *self._see_cgroup())
            self.layers = (*(layer for layer in self.layers if layer.name not in {new.name for new in told}), *told)
            self.held = outside.memory(self._pid, self._group)
        except (OSError, outside.Unlike) as error:
            self._fail(f"the guest, seen from outside: {error}")
            return
        self.ready = True
        self._changed()

    def _see_cgroup(self) -> tuple[spec.Layer, ...]:
        """What limits are set; that its processes are in there `outside.examine` has seen."""
        if self._group is None:
            return ()
        version = "/".join(sorted({f"v{v}" for v in self._group.versions()}))
        return (spec.Layer("keeper.cgroup", True, f"{version}: {self._group.limits()}"),)

    def close_init(self) -> None:
        """End the sandbox: init ends with its channel."""
        if self._init.fileno() >= 0:
            self._loop.forget(self._init.fileno())
            self._init.end()

    def close_setup(self) -> None:
        """Let go of the guest."""
        if self._setup is not None:
            self._loop.forget(self._setup.fileno())
            self._setup.end()
            self._setup = None

    def close(self) -> None:
        """Let go of everything."""
        self.close_init()
        self.init_end.close()
        self.close_setup()
        for fd in (*self.pidfds, *self._guest_cgroups):
            self._loop.forget(fd)
            os.close(fd)
        if self.workdir_fd >= 0:
            os.close(self.workdir_fd)
        self.pidfds, self._guest_cgroups, self.workdir_fd = [], (), -1
