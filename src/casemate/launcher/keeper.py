"""The keeper: host side, one thread, standard library only; owns cgroups, uids, deadlines and kills.

    caller ══seqpacket══► keeper ══► zygote of each room        (make a sandbox)
                            ╠══════► templates of the room      (fork a guest, tell its status)
                            ╚══════► init of each sandbox       (its end is the sandbox's end)

It runs in a session of its own, started with an empty environment. It parses no untrusted byte: sources, inputs and
what guests write pass through it as descriptors or uninterpreted bytes. What it reads from a room is parsed by one
strict codec, and a message that does not fit ends what sent it.

End of file from the caller, or the death of the caller's process (a pidfd, since a forked child of the caller may hold
a copy of the socket), means: destroy everything. The kernel does the same if the keeper dies: each room's first process
ends with its channel, and with its parent (PR_SET_PDEATHSIG). Then only empty cgroups are left, for the next start.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import resource
import secrets
import select
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from . import cgroups, claims, execution, room, spec, syscalls, usermaps
from .preparation import Kind, Loop

_USABLE = (execution.Phase.READY, execution.Phase.PREPARING)
_BUSY = (execution.Phase.RUNNING, execution.Phase.PREPARING)


DESCRIPTORS, OWN_DESCRIPTORS = 24, 64
"""Of one execution at its most (channels, pipes, memfds, pidfds, cgroup files, copies to send), and of the keeper."""
STOCK_PAUSE = 1.0
"""Seconds without building ahead of demand after that failed."""


@dataclass
class Place:
    """A room that stands, and its templates."""

    room: spec.Room
    pid: int
    channel: spec.Channel
    templates: dict[str, spec.Channel]
    warm: set[str] = field(default_factory=set)
    layers: tuple[spec.Layer, ...] = ()


class Keeper:
    """The loop and what it owns."""

    def __init__(
        self, caller: spec.Channel, caller_pidfd: int, state: claims.State, package: str, uids: tuple[int, int]
    ) -> None:
        self._caller = caller
        self._caller.sock.setblocking(False)
        self._outgoing: deque[tuple[spec.Message, tuple[int, ...]]] = deque()
        self._handlers: dict[int, Callable[[], None]] = {}
        self._poll = select.poll()
        self._state = state
        self._files = room.code_files(package)
        self._sink = os.open("/dev/null", os.O_WRONLY | os.O_CLOEXEC)
        with open(f"/proc/{os.getpid()}/stat", encoding="ascii") as file:
            started = file.read().rpartition(")")[2].split()[19]
        self._name = f"{os.getpid()}-{started}"
        state.sweep()
        found, group = cgroups.survey(), f"casemate-{self._name}"
        # First the record: a keeper that is killed while it makes its group leaves nothing unknown.
        self._claim = state.keeper(self._name, cgroups.keeper_directories(found, group))
        self._group = cgroups.keeper_group(found, group)
        self._uids = state.uids(*uids) if os.geteuid() == 0 else None
        self._slots: dict[str, int] = {}
        self._cores = len(os.sched_getaffinity(0))
        self._capacity = _capacity()
        self._places: dict[str, Place] = {}
        self._executions: dict[str, execution.Execution] = {}
        self._runs: dict[str, execution.Execution] = {}
        self._resume = 0.0
        self._stocks: dict[Kind, spec.Stock] = {}
        self._loop = Loop(self.watch, self.forget, self._tell, self._namespaces, self._sink)
        self._running = True
        self.watch(caller.fileno(), self._on_caller)
        self.watch(caller_pidfd, self._stop)

    # --- the loop -------------------------------------------------------------------------------------------------

    def watch(self, fd: int, handler: Callable[[], None]) -> None:
        """Call `handler` when `fd` is readable or ended."""
        self._handlers[fd] = handler
        self._poll.register(fd, select.POLLIN)

    def forget(self, fd: int) -> None:
        """Stop watching; before the descriptor is closed."""
        if self._handlers.pop(fd, None) is not None:
            with contextlib.suppress(KeyError):
                self._poll.unregister(fd)

    def serve(self) -> None:
        """Until the caller is gone, then destroy everything."""
        try:
            while self._running:
                now = time.monotonic()
                due = min((made.next_time(now) for made in self._executions.values()), default=now + 5.0)
                for fd, _ in self._poll.poll(max(0.0, due - now) * 1000 + 0.5):
                    handler = self._handlers.get(fd)
                    if handler is not None:
                        handler()
                now = time.monotonic()
                for made in list(self._executions.values()):
                    made.guarded(functools.partial(made.on_time, now))()
                self._collect()
                self._restock()
        finally:
            self._destroy()

    def _stop(self) -> None:
        self._running = False

    def _tell(self, message: spec.Message, descriptors: tuple[int, ...] = ()) -> None:
        """Send to the caller; what does not fit into its socket now waits here, with copies of the descriptors."""
        try:
            spec.encode(message)
        except spec.WireError as error:
            # What a room told of itself does not fit into one packet any more: its fault, and not the others' end.
            name = message.room if isinstance(message, spec.Ready) else getattr(message, "id", "")
            message, descriptors = spec.Fault(name, str(error)[:4000]), ()
        copies: list[int] = []
        try:
            for fd in descriptors:
                copies.append(os.dup(fd))
        except OSError as error:
            spec.close_all(copies)
            message, copies = spec.Fault(getattr(message, "id", ""), f"no descriptor left for the result: {error}"), []
        self._outgoing.append((message, tuple(copies)))
        self._flush()

    def _flush(self) -> None:
        while self._outgoing:
            message, descriptors = self._outgoing[0]
            try:
                self._caller.send(message, descriptors)
            except BlockingIOError:
                self._poll.modify(self._caller.fileno(), select.POLLIN | select.POLLOUT)
                return
            except OSError:
                self._running = False
            self._outgoing.popleft()
            spec.close_all(descriptors)
        if self._running:
            self._poll.modify(self._caller.fileno(), select.POLLIN)

    # --- the caller -----------------------------------------------------------------------------------------------

    def _on_caller(self) -> None:
        self._flush()
        try:
            received = self._caller.receive()
        except BlockingIOError:
            return
        except (spec.WireError, OSError):
            received = None
        if received is None:
            self._running = False
            return
        message, descriptors = received
        if isinstance(message, spec.Room):
            spec.close_all(descriptors)
            self._make_room(message)
        elif isinstance(message, spec.Run):
            self._start(message, descriptors)
        elif isinstance(message, spec.Stock):
            spec.close_all(descriptors)
            self._stock(message)
        elif isinstance(message, spec.Cancel):
            spec.close_all(descriptors)
            if run := self._runs.get(message.id):
                run.cancel()
        else:
            spec.close_all(descriptors)
            self._running = False

    # --- rooms ----------------------------------------------------------------------------------------------------

    def _make_room(self, message: spec.Room) -> None:
        procs: tuple[int, ...] = ()
        pairs = [spec.pair() for _ in message.templates]
        try:
            if self._group is not None:
                procs = self._group.child(f"room-{message.id}").open_procs()
            pid, channel, layers = room.start(message, self._files, self._uids, procs)
            channel.send(message, tuple(theirs.fileno() for _, theirs in pairs))
        except OSError as error:
            self._tell(spec.Fault(message.id, f"room: {error}"))
            for ours, _ in pairs:
                ours.close()
            return
        finally:
            spec.close_all(procs)
            for _, theirs in pairs:
                theirs.close()
        templates = {wanted.name: ours for wanted, (ours, _) in zip(message.templates, pairs, strict=True)}
        place = Place(message, pid, channel, templates, layers=layers)
        self._places[message.id] = place
        self.watch(channel.fileno(), lambda: self._lose_room(place, "its first process ended"))
        for template in templates.values():
            template.sock.setblocking(False)
            self.watch(template.fileno(), lambda template=template: self._on_template(place, template))  # type: ignore[misc]

    def _on_template(self, place: Place, channel: spec.Channel) -> None:
        try:
            received = channel.receive()
        except BlockingIOError:
            return
        except (spec.WireError, OSError) as error:
            self._lose_room(place, f"template: {error}")
            return
        if received is None:
            self._lose_room(place, "a template ended")
            return
        message, descriptors = received
        spec.close_all(descriptors)
        if isinstance(message, spec.Warm) and message.name in place.templates:
            place.warm.add(message.name)
            place.layers += message.layers
            if place.warm == set(place.templates):
                self._tell(spec.Ready(place.room.id, place.layers))
        elif isinstance(message, spec.Exited):
            if made := self._executions.get(message.id):
                made.on_exited(message)
        elif isinstance(message, spec.Fault) and message.id in self._executions:
            self._executions[message.id].on_refused(message.message)
        else:
            self._lose_room(
                place, message.message if isinstance(message, spec.Fault) else f"template said {message.kind}"
            )

    def _lose_room(self, place: Place, why: str) -> None:
        if self._places.pop(place.room.id, None) is None:
            return
        self._stocks = {kind: stock for kind, stock in self._stocks.items() if kind.room != place.room.id}
        for made in list(self._executions.values()):
            if made.kind.room == place.room.id:
                made.on_template_gone()
        self._end_room(place)
        self._tell(spec.Fault(place.room.id, f"room: {why}"))

    def _end_room(self, place: Place) -> None:
        for channel in (place.channel, *place.templates.values()):
            self.forget(channel.fileno())
            channel.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(place.pid, 9)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(place.pid, 0)

    # --- executions -----------------------------------------------------------------------------------------------

    def _start(self, message: spec.Run, descriptors: list[int]) -> None:
        kind = Kind(message.room, message.template, message.walls, message.bounds)
        made: execution.Execution | None = None
        try:
            if len(descriptors) != 1 + len(message.job.inputs) or message.id in self._runs:
                raise OSError("descriptors and inputs do not match, or the id is taken")
            made = self._ready(kind) or self._build(kind)
        except OSError as error:
            spec.close_all(descriptors)
            self._tell(spec.Fault(message.id, str(error), busy=error.errno == errno.EUSERS))
            return
        self._runs[message.id] = made
        made.guarded(lambda: made.give(message, descriptors[0], tuple(descriptors[1:])))()

    def _ready(self, kind: Kind) -> execution.Execution | None:
        """One of the stock that nobody has; one that is still being built counts only if there is no better."""
        free = [made for made in self._free(kind) if made.phase in _USABLE]
        return max(free, key=lambda made: (made.phase is execution.Phase.READY, made.age), default=None)

    def _free(self, kind: Kind) -> list[execution.Execution]:
        return [made for made in self._executions.values() if made.run is None and made.kind == kind]

    def _build(self, kind: Kind) -> execution.Execution:
        if len(self._executions) >= self._capacity:
            raise OSError(errno.EUSERS, f"{self._capacity} sandboxes are alive, as many as the descriptors allow")
        place = self._places.get(kind.room)
        if place is None or kind.template not in place.warm:
            raise OSError(f"no warm template {kind.template}")
        if kind.bounds.cgroup and self._group is None:
            raise OSError("this host gives us no memory, pids and cpu controllers")
        slot = self._free_slot()
        name = secrets.token_hex(8)
        group: cgroups.Group | None = None
        mine: tuple[int, ...] = ()
        guests: tuple[int, ...] = ()
        try:
            if self._group is not None and kind.bounds.cgroup:
                bounds = kind.bounds
                group = self._group.child(name, inner=True)
                group.limit(memory=bounds.memory, processes=bounds.processes + 2, cpus=bounds.cpus)
                mine = group.child("init").open_procs()
                guests = group.child("exec-1").open_procs()
            uid = os.geteuid() if self._uids is None else self._uids[0] + usermaps.init_id(slot) + 1
            made = execution.Execution(name, kind, uid, group, place.templates[kind.template], self._loop)
            place.channel.send(spec.Sandbox(name, slot, made.workdir, kind.walls), (made.init_end.fileno(), *mine))
        except OSError:
            spec.close_all(guests)
            if group is not None:
                group.remove()
            raise
        finally:
            spec.close_all(mine)
        self._slots[name] = slot
        self._executions[name] = made
        made.begin(guests)
        return made

    def _free_slot(self) -> int:
        if self._uids is None:
            return -1
        used = set(self._slots.values())
        for slot in range((self._uids[1] - 1) // 2):
            if slot not in used:
                return slot
        raise OSError(errno.EUSERS, "every uid of the range is in use")

    def _namespaces(self) -> set[str]:
        """Of every live execution that has been looked at."""
        return {name for made in self._executions.values() for name in made.namespaces}

    def _collect(self) -> None:
        for name, made in list(self._executions.items()):
            if made.phase is execution.Phase.DONE and (made.group is None or made.group.remove()):
                del self._executions[name]
                self._slots.pop(name, None)
                if made.run is not None:
                    self._runs.pop(made.run.id, None)
                elif made.failed:
                    self._pause()

    # --- the stock ------------------------------------------------------------------------------------------------

    def _stock(self, message: spec.Stock) -> None:
        kind = Kind(message.room, message.template, message.walls, message.bounds)
        if message.size > 0:
            self._stocks[kind] = message
        else:
            self._stocks.pop(kind, None)

    def _pause(self) -> None:
        """Building ahead of demand failed: not again at once."""
        self._resume = time.monotonic() + STOCK_PAUSE

    def _restock(self) -> None:
        """End what is too old or no longer wanted; build one for what is missing, while a core is idle."""
        for made in list(self._executions.values()):
            if made.run is None and made.phase is execution.Phase.READY:
                stock = self._stocks.get(made.kind)
                if stock is None or made.age > stock.age:
                    made.cancel()
        if time.monotonic() < self._resume:
            return
        for kind, stock in self._stocks.items():
            busy = sum(made.phase in _BUSY for made in self._executions.values())
            if len(self._free(kind)) < stock.size and busy < self._cores:
                try:
                    self._build(kind)
                except OSError:
                    self._pause()

    def _destroy(self) -> None:
        self._stocks.clear()
        for made in list(self._executions.values()):
            made.cancel()
        for place in self._places.values():
            self._end_room(place)
        if self._group is not None:
            end = time.monotonic() + 10.0
            while not self._group.remove() and time.monotonic() < end:
                self._group.kill()
                select.select([], [], [], 0.005)
            if time.monotonic() >= end:
                return  # the record stays, for the next keeper's sweep
        self._state.release_keeper(self._name)


def _capacity() -> int:
    """How many executions the descriptor limit has room for, after it is raised as far as we may (getrlimit(2))."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return max(1, (min(hard, 1 << 20) - OWN_DESCRIPTORS) // DESCRIPTORS)


def main(arguments: list[str]) -> int:
    """`keeper CHANNEL CALLER_PIDFD STATE PACKAGE FIRST_UID UIDS`; anything wrong is told on the channel."""
    channel, pidfd, state, package, first, count = arguments
    caller = spec.adopt(int(channel))
    for fd in (int(channel), int(pidfd)):
        os.set_inheritable(fd, False)
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)
    os.umask(0o077)
    try:
        keeper = Keeper(caller, int(pidfd), claims.State(state), package, (int(first), int(count)))
    except (OSError, RuntimeError, ValueError) as error:
        caller.send(spec.Fault("keeper", f"{type(error).__name__}: {error}"[:4000]))
        return 1
    caller.sock.setblocking(False)
    keeper.serve()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
