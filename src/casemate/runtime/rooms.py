"""Rooms that stand, by image, template and outer wall.

Each is made on first use, shared by every thread, and made again after a loss.
"""

from __future__ import annotations

import os
import threading
import uuid
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from casemate.errors import PolicyError, SandboxFault
from casemate.launcher import spec
from casemate.launcher.spec import Bounds, Ended, GuestJob, Outer, Template, Walls
from casemate.launcher.spec import Layer as Seen
from casemate.runtime import images
from casemate.runtime.connection import UID_RANGE, Connection, Finished

# What callers of this zone say to a sandbox and hear from it are the wire's own values.
__all__ = ["Bounds", "Ended", "GuestJob", "Outer", "Rooms", "Seen", "Standing", "Stock", "Template", "Walls"]

WARM_TIMEOUT = 900.0


@dataclass(frozen=True, slots=True)
class Stock:
    """Sandboxes that are built and locked down ahead of demand, so that a job need not wait for that.

    `size` of each kind (image, template, walls and limits) that was wanted lately, none older than `age` seconds; all
    of them together may hold `memory` bytes of their own. A size of 0 means none.
    """

    size: int = 2
    age: float = 60.0
    memory: int = 256 << 20

    def __post_init__(self) -> None:
        if type(self.size) is not int or type(self.memory) is not int or type(self.age) not in (int, float):
            raise TypeError(f"{self}: sandboxes and bytes are whole numbers, seconds a number")
        if self.size < 0 or self.size > 4096 or not self.age > 0 or self.memory <= 0:
            raise ValueError(f"{self}: a size of 0 to 4096, seconds and bytes above 0")


@dataclass(frozen=True, slots=True)
class Standing:
    """A warm template in a room, and the connection whose keeper holds it."""

    connection: Connection
    room: str
    template: str
    layers: tuple[Seen, ...]
    release: Callable[[], None]
    """To be called when the job is over: until then the room is not ended, whatever becomes of its image."""

    def start(
        self, *, name: str, entry: str, job: GuestJob, walls: Walls, bounds: Bounds, gated: bool,
        deadline: float, descriptors: tuple[int, ...], started: Callable[[], None],
    ) -> Future[Finished]:  # fmt: skip
        """Start one sandbox with one execution (see `spec.Run`), and keep a stock of its kind from then on."""
        message = spec.Run(name, self.room, self.template, entry, job, walls, bounds, gated, deadline)
        return self.connection.run(message, descriptors, started)

    def demand(self, walls: Walls, bounds: Bounds) -> None:
        """Have sandboxes of this kind built before the first job asks for one."""
        self.connection.demand(spec.Demand(self.room, self.template, walls, bounds))


def once(call: Callable[[], None]) -> Callable[[], None]:
    """The call, the first time only."""
    pending = [call]

    def first() -> None:
        if pending:
            pending.pop()()

    return first


class Rooms:
    """The rooms of one keeper; a keeper that is gone is started again."""

    def __init__(self, state: Path, uids: tuple[int, int] = UID_RANGE, stock: Stock | None = None) -> None:
        self._state = state
        kept = stock or Stock()
        self._terms = f"{kept.size},{kept.age},{kept.memory}"
        self._uids = uids
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._closed = False
        self._connection: Connection | None = None
        self._rooms: dict[tuple[images.Image, Template, Outer], tuple[str, Future[spec.Ready]]] = {}
        self._held: Counter[str] = Counter()
        self._retiring: set[str] = set()

    def standing(
        self, image: images.Image, template: Template, outer: Outer, patience: float | None = None
    ) -> Standing:
        """The room of `image` with a warm `template`; raises SandboxFault if it cannot be made.

        PolicyError if the runtime of `outer` does not make it. TimeoutError if it is not warm within `patience`
        seconds: it goes on warming up, for the next call.
        """
        key = (image, template, outer)
        self.require_own_process()
        with self._lock:
            if self._closed:
                raise SandboxFault("this Host is closed")
            connection = self._connect()
            if key not in self._rooms or connection.lost(self._rooms[key][0]):
                name = uuid.uuid4().hex[:12]
                room = spec.Room(name, str(image.root), image.site_packages, (template,), outer)
                self._retire_others(connection, image, template)
                self._rooms[key] = (name, connection.room(room))
            name, future = self._rooms[key]
            self._held[name] += 1  # from now on: who waits for a room must not see it retired
        release = once(lambda: self._release(connection, name))
        try:
            ready = future.result(WARM_TIMEOUT if patience is None else min(patience, WARM_TIMEOUT))
        except TimeoutError:
            release()
            if patience is not None and patience < WARM_TIMEOUT:
                raise TimeoutError(f"template {template.name} was not warm in the time that was left") from None
            raise SandboxFault(f"template {template.name} was not warm after {WARM_TIMEOUT:g} s") from None
        except (SandboxFault, PolicyError):
            self.forget(name)
            release()
            raise
        except BaseException:
            release()
            raise
        return Standing(connection, name, template.name, ready.layers, release)

    def _release(self, connection: Connection, name: str) -> None:
        with self._lock:
            self._held[name] -= 1
            over = self._held[name] == 0
            if over:
                del self._held[name]
            if over and name in self._retiring:
                self._retiring.discard(name)
                connection.retire(name)

    def _retire_others(self, connection: Connection, image: images.Image, template: Template) -> None:
        """Rooms of what else had this image's name, before it was built anew, each when its last job is over."""
        for (other, kind, outer), (name, _) in list(self._rooms.items()):
            if other.name == image.name and kind == template and other != image:
                del self._rooms[other, kind, outer]
                if self._held[name]:
                    self._retiring.add(name)
                else:
                    connection.retire(name)

    def forget(self, name: str) -> None:
        """A room that is lost; the next job makes a new one."""
        with self._lock:
            self._rooms = {key: value for key, value in self._rooms.items() if value[0] != name}

    @property
    def keeper_pid(self) -> int | None:
        """Process id of the keeper, None before the first job."""
        return self._connection.keeper_pid if self._connection else None

    def require_open(self) -> None:
        """Raise SandboxFault if this was closed, or in a forked child."""
        self.require_own_process()
        if self._closed:
            raise SandboxFault("this Host is closed")

    def require_own_process(self) -> None:
        """Raise SandboxFault in a forked child; before any lock, which another thread may have held at the fork."""
        if self._pid != os.getpid():
            raise SandboxFault("this Host belongs to another process: make one after the fork")

    def _connect(self) -> Connection:
        if self._connection is None or not self._connection.alive:
            self._rooms.clear()
            self._connection = Connection(self._state, self._uids, self._terms)
        return self._connection

    def close(self) -> None:
        """End the keeper and everything it holds, for good; nothing to do in a forked child."""
        if self._pid != os.getpid():
            return
        with self._lock:
            self._closed = True
            connection, self._connection = self._connection, None
            self._rooms.clear()
        if connection is not None:
            connection.close()
