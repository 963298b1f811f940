"""The executions of a keeper: built on demand or ahead of it, given one job each, gone when empty.

A sandbox that is ready waits for a job of exactly its kind: its room (so its image and template), its walls and its
bounds (so its policy). It is given one job, and nothing ever makes it free again.
"""

from __future__ import annotations

import errno
import functools
import heapq
import os
import resource
import secrets
import time
from collections.abc import Iterator

from . import cgroups, spec, usermaps
from .execution import Execution, Phase
from .preparation import Kind, Loop
from .rooms import Rooms
from .shelf import Shelf, began
from .stock import Stock, Terms

DESCRIPTORS, OWN_DESCRIPTORS = 18, 320
"""Of one execution at its most (channels, pipes, memfds, pidfds, copies); of the keeper, with a job's inputs."""
ASKED = 64
"""Sandboxes that the stock leaves room for, or half of all: for those who ask."""
IDLE, EMPTYING = 5.0, 0.02
"""Seconds until the next look if nothing happens; while a room that has ended is not empty yet."""


class Executions:
    """`uids` is the range that sandboxes take theirs from, as root."""

    def __init__(
        self, rooms: Rooms, uids: tuple[int, int] | None, group: cgroups.Group | None, loop: Loop, terms: Terms
    ) -> None:
        self._rooms, self._uids, self._group, self._loop = rooms, uids, group, loop
        self._capacity = capacity() if uids is None else min(capacity(), slots(uids))
        self._alive: dict[str, Execution] = {}
        self._awake: dict[str, Execution] = {}
        """Those to which something happened, or whose clocks run; the others wait on the shelf."""
        self._shelf = Shelf()
        self._states: dict[str, tuple[object, ...]] = {}
        self._stock_due = 0.0
        self._runs: dict[str, Execution] = {}
        self._slots: dict[str, int] = {}
        self._stock = Stock(terms, len(os.sched_getaffinity(0)))

    # --- one job each ---------------------------------------------------------------------------------------------

    def start(self, message: spec.Run, descriptors: list[int]) -> None:
        """Give a job to a sandbox that is ready, else to one that is built for it; the descriptors are ours."""
        try:
            kind = self._kind(message)
            if len(descriptors) != 1 + len(message.job.inputs) or message.id in self._runs:
                raise OSError("descriptors and inputs do not match, or the id is taken")
            self._want(kind)
            made = self._ready(kind) or self._build(kind)
        except OSError as error:
            spec.close_all(descriptors)
            busy = error.errno == errno.EUSERS
            why = (busy and error.strerror) or str(error)
            self._loop.tell(spec.Fault(message.id, why, busy=busy, begun=False), ())
            return
        self._runs[message.id] = made
        made.guarded(lambda: made.give(message, descriptors[0], tuple(descriptors[1:])))()

    def cancel(self, run: str) -> None:
        """The caller does not want it any more."""
        if made := self._runs.get(run):
            made.guarded(made.cancel)()

    def exited(self, room: str, message: spec.Exited) -> bool:
        """A template reaped a guest; False if it was none of that room's, or not one that could end."""
        made = self._alive.get(message.id)
        if made is None or made.kind.room != room or not made.forked:
            return False
        made.guarded(lambda: made.on_exited(message))()
        return True

    def refused(self, room: str, message: spec.Fault) -> bool:
        """A template could not fork a guest; False if it was none of that room's."""
        made = self._alive.get(message.id)
        if made is None or made.kind.room != room or not made.forked:
            return False
        made.guarded(lambda: made.on_refused(message.message))()
        return True

    def retire(self, room: str) -> None:
        """A room is not asked for anything new; what waits in it ends now, and it with its last execution."""
        self._stock.forget(room)
        self._stock_due = 0.0
        self._rooms.retire(room)

    def lost(self, room: str) -> None:
        """A room is gone, with its templates."""
        self._stock.forget(room)
        self._stock_due = 0.0
        for made in list(self._alive.values()):
            if made.kind.room == room:
                made.guarded(made.on_template_gone)()

    def namespaces(self) -> set[str]:
        """Of every room, and of every live execution that has been looked at."""
        return self._rooms.namespaces().union(*(made.namespaces for made in self._alive.values()))

    # --- building -------------------------------------------------------------------------------------------------

    def _build(self, kind: Kind) -> Execution:
        if len(self._alive) >= self._capacity:
            self._make_way(kind)
            raise OSError(errno.EUSERS, f"{self._capacity} sandboxes are alive, as many as descriptors and uids allow")
        template = self._rooms.template(kind.room, kind.template)
        if kind.bounds.cgroup and self._group is None:
            raise OSError("this host gives us no memory, pids and cpu controllers")
        slot = self._free_slot()
        name = secrets.token_hex(8)
        group: cgroups.Group | None = None
        mine: tuple[int, ...] = ()
        guests: tuple[int, ...] = ()
        made: Execution | None = None
        try:
            if self._group is not None and kind.bounds.cgroup:
                bounds = kind.bounds
                group = self._group.child(name, inner=True)
                group.limit(memory=bounds.memory, processes=bounds.processes + cgroups.OWN, cpus=bounds.cpus)
                for_init, for_guest = cgroups.LEAVES
                mine = group.child(for_init).open_procs()
                guests = group.child(for_guest).open_procs()
            uid = os.geteuid() if self._uids is None else self._uids[0] + usermaps.init_id(slot) + 1
            stirred = functools.partial(self._stir, name)
            made = Execution(name, kind, uid, group, template, self._loop, stirred)
            wanted = spec.Sandbox(name, slot, made.workdir, kind.walls)
            self._rooms.order(kind.room, wanted, (made.init_end.fileno(), *mine))
        except (OSError, ValueError, OverflowError) as error:
            spec.close_all(guests)
            if made is not None:
                made.close()
            if group is not None:
                group.remove()
            raise error if isinstance(error, OSError) else OSError(str(error)) from None
        finally:
            spec.close_all(mine)
        self._slots[name] = slot
        self._alive[name] = self._awake[name] = made
        made.begin(guests)
        return made

    def _make_way(self, kind: Kind) -> None:
        """End one that waits for a job of another kind, so that the next who asks finds room."""
        waiting = [made for made in self._shelf if made.kind != kind]
        if waiting:
            oldest = max(waiting, key=lambda made: made.age)
            oldest.guarded(oldest.cancel)()

    def _free_slot(self) -> int:
        if self._uids is None:
            return -1
        used = set(self._slots.values())
        for slot in range(slots(self._uids)):
            if slot not in used:
                return slot
        raise OSError(errno.EUSERS, "every uid of the range is in use")

    # --- the stock ------------------------------------------------------------------------------------------------

    def demand(self, message: spec.Demand) -> None:
        """Have some of this kind ready from now on."""
        self._want(self._kind(message))

    def _kind(self, message: spec.Run | spec.Demand) -> Kind:
        """The same object for the same kind, which makes comparing it cheap."""
        kind = Kind(message.room, message.template, message.walls, message.bounds)
        return next((known for known in self._stock.kinds if known == kind), kind)

    def _want(self, kind: Kind) -> None:
        if self._rooms.stands(kind.room):
            self._stock.want(kind)
            self._stock_due = 0.0

    def _ready(self, kind: Kind) -> Execution | None:
        """One of the stock that nobody has; one that is still being built counts only if there is no better.

        What became too old, or died, while this process slept is not handed out.
        """
        return next((made for made in self._free(kind) if made.sound() and not self._stock.expired(made)), None)

    def _free(self, kind: Kind) -> Iterator[Execution]:
        """Those that are ready, oldest first (it copies its pages first, maybe now), then the others."""
        awake = [made for made in self._awake.values() if made.run is None and made.kind == kind and made.usable]
        ready = sorted((made for made in awake if made.waiting), key=began)
        yield from heapq.merge(self._shelf.of(kind), ready, key=began)
        yield from sorted((made for made in awake if not made.waiting), key=began)

    def _restock(self) -> None:
        """End those of the stock that must go, and begin one that is missing."""
        for made in self._stock.surplus(self._shelf):
            made.guarded(made.cancel)()
        kind = self._stock.missing(self._shelf, self._awake.values())
        if kind is not None and len(self._alive) < self._capacity - min(ASKED, self._capacity // 2):
            try:
                self._build(kind)
            except OSError:
                self._stock.pause()
        if idle := self._stock.idle(self._shelf, self._awake.values()):
            idle.prefault()
        self._stock_due = self._stock.next_time(self._shelf, time.monotonic())

    # --- time -----------------------------------------------------------------------------------------------------

    def next_time(self, now: float) -> float:
        """Monotonic time of the next thing to look at."""
        pause = EMPTYING if self._rooms.emptying else IDLE
        return min([*(made.next_time(now) for made in self._awake.values()), self._stock_due, now + pause])

    def on_time(self, now: float) -> None:
        """Look at the clocks, let go of what is empty, renew the stock."""
        changed = now >= self._stock_due
        for name, made in list(self._awake.items()):
            made.guarded(functools.partial(made.on_time, now))()
            gone = made.phase is Phase.DONE and (made.group is None or made.group.remove())
            if gone:
                self._let_go(name, made)
            elif made.waiting and not made.prefaulting:
                del self._awake[name]
                self._shelf.add(made)
            if gone or self._states.get(name) != made.state:
                changed = True
            if not gone:
                self._states[name] = made.state
        if changed:
            self._rooms.end_retired({made.kind.room for made in self._alive.values()})
            self._restock()
        self._rooms.remove_groups()

    def _stir(self, name: str) -> None:
        """Something is going to happen to an execution."""
        made = self._alive.get(name)
        if made is not None and name not in self._awake:
            self._awake[name] = made
            self._shelf.discard(made)

    def _let_go(self, name: str, made: Execution) -> None:
        del self._alive[name], self._awake[name]
        self._slots.pop(name, None)
        self._states.pop(name, None)
        if made.run is not None:
            self._runs.pop(made.run.id, None)
        elif made.failed:
            self._stock.pause()

    def destroy(self) -> None:
        """Kill all of them."""
        self._stock.clear()
        for made in list(self._alive.values()):
            made.cancel()


def slots(uids: tuple[int, int]) -> int:
    """How many executions a range of uids has room for: the first is the rooms', each execution has two."""
    return (uids[1] - 1) // 2


def capacity() -> int:
    """How many executions the descriptor limit has room for, after it is raised as far as we may (getrlimit(2))."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return max(1, (min(hard, 1 << 20) - OWN_DESCRIPTORS) // DESCRIPTORS)
