"""Which sandboxes to build ahead of demand, and which of those that wait to end.

A kind of job is kept in stock from its first demand on, until `KINDS` others were wanted since. Building goes on only
while a core is idle, or while no other is being built: most of building is waiting for the kernel.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection
from dataclasses import dataclass

from .execution import Execution, Phase
from .preparation import Kind
from .shelf import Shelf

KINDS = 4
"""Kinds of job that are kept in stock at once."""
PAUSE = 1.0
"""Seconds without building ahead of demand after that failed."""


@dataclass(frozen=True, slots=True)
class Terms:
    """At most `size` of each kind, each no older than `age` seconds, all together no more than `memory` bytes."""

    size: int
    age: float
    memory: int

    @classmethod
    def parse(cls, text: str) -> Terms:
        """From "SIZE,AGE,MEMORY"; raises ValueError."""
        size, age, memory = text.split(",")
        return cls(int(size), float(age), int(memory))

    def __str__(self) -> str:
        return f"{self.size},{self.age},{self.memory}"


class Stock:
    """`cores` is how many may be busy at once."""

    def __init__(self, terms: Terms, cores: int) -> None:
        self._terms, self._cores = terms, cores
        self._kinds: dict[Kind, int] = {}  # the last wanted last; with the most bytes that one held
        self._resume = 0.0

    @property
    def kinds(self) -> Collection[Kind]:
        """Those that are kept in stock."""
        return self._kinds.keys()

    def want(self, kind: Kind) -> None:
        """This kind is in demand."""
        if self._terms.size > 0:
            self._kinds[kind] = self._kinds.pop(kind, 0)
            while len(self._kinds) > KINDS:
                del self._kinds[next(iter(self._kinds))]

    def forget(self, room: str) -> None:
        """A room is gone, and what it is made of may have changed."""
        self._kinds = {kind: held for kind, held in self._kinds.items() if kind.room != room}

    def clear(self) -> None:
        """Nothing is wanted any more."""
        self._kinds.clear()

    def pause(self) -> None:
        """Building ahead of demand failed: not again at once."""
        self._resume = time.monotonic() + PAUSE

    def next_time(self, shelf: Shelf, now: float) -> float:
        """Monotonic time at which there is something to build or to end again, if nothing happens before."""
        times = [now + max(0.0, self._terms.age - age) for age in shelf.ages()]
        return min([*times, self._resume if self._resume > now else math.inf])

    def expired(self, made: Execution) -> bool:
        """True if it is too old to be given a job."""
        return made.age > self._terms.age

    def surplus(self, shelf: Shelf) -> list[Execution]:
        """Those that wait and are too old, no longer wanted, or more than the memory allows."""
        for kind in shelf.kinds():
            if kind in self._kinds:
                self._kinds[kind] = max(self._kinds[kind], shelf.most(kind))
        if shelf.held <= self._terms.memory and not shelf.kinds() - self._kinds.keys():
            return shelf.older_than(self._terms.age)
        found, together = [], 0
        for made in sorted(shelf, key=lambda made: made.age):
            if made.kind not in self._kinds or self.expired(made) or together + made.held > self._terms.memory:
                found.append(made)
            else:
                together += made.held
        return found

    def missing(self, shelf: Shelf, awake: Collection[Execution]) -> Kind | None:
        """The kind to build one of now; `awake` are those that are not on the shelf."""
        if time.monotonic() < self._resume:
            return None
        preparing = sum(made.phase is Phase.PREPARING for made in awake)
        running = sum(made.phase is Phase.RUNNING for made in awake)
        if preparing and preparing + running >= self._cores:
            return None
        together = _together(shelf, awake)
        for kind, held in reversed(self._kinds.items()):
            coming = sum(made.run is None and made.kind == kind and made.usable for made in awake)
            if shelf.count(kind) + coming < self._terms.size and together + held <= self._terms.memory:
                return kind
        return None

    def idle(self, shelf: Shelf, awake: Collection[Execution]) -> Execution | None:
        """The one to prefault now, if a core has nothing better to do: the oldest of a kind that is not.

        As many of a kind as there are cores: a prefaulted one holds several times the memory.
        """
        if sum(made.phase in (Phase.PREPARING, Phase.RUNNING) or made.prefaulting for made in awake) >= self._cores:
            return None
        together = _together(shelf, awake)
        for kind in reversed(self._kinds):
            fresh = shelf.fresh(kind)
            copied = shelf.count(kind) - len(fresh) + sum(made.kind == kind and made.prefaulting for made in awake)
            if fresh and together + self._kinds[kind] <= self._terms.memory and copied < self._cores:
                return fresh[0]
        return None


def _together(shelf: Shelf, awake: Collection[Execution]) -> int:
    """Bytes of all that wait."""
    return shelf.held + sum(made.held for made in awake if made.waiting)
