"""The sandboxes that wait, by kind and age; there may be a thousand, and no event looks at all of them."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field

from .execution import Execution
from .preparation import Kind


@dataclass(slots=True)
class _Row:
    """Of one kind, oldest first: those that have copied the pages which a job writes, and those that have not."""

    copied: list[Execution] = field(default_factory=list)
    fresh: list[Execution] = field(default_factory=list)
    most: int = 0

    def of(self, made: Execution) -> list[Execution]:
        return self.copied if made.prefaulted else self.fresh


class Shelf:
    """What is on it must not change: it is taken off before anything happens to it."""

    def __init__(self) -> None:
        self._rows: dict[Kind, _Row] = {}
        self.held = 0
        """Bytes of all of them together."""

    def __iter__(self) -> Iterator[Execution]:
        return itertools.chain.from_iterable((*row.copied, *row.fresh) for row in self._rows.values())

    def add(self, made: Execution) -> None:
        """Put one that waits where its age belongs."""
        row = self._rows.setdefault(made.kind, _Row())
        bisect.insort(row.of(made), made, key=began)
        row.most = max(row.most, made.held)
        self.held += made.held

    def discard(self, made: Execution) -> None:
        """Take one off, if it is there."""
        row = self._rows.get(made.kind)
        if row is None:
            return
        place = row.of(made)
        index = bisect.bisect_left(place, made.began, key=began)
        while index < len(place) and place[index].began == made.began:
            if place[index] is made:
                del place[index]
                self.held -= made.held
                break
            index += 1
        if not row.copied and not row.fresh:
            del self._rows[made.kind]

    def kinds(self) -> Set[Kind]:
        """Of which there is one."""
        return self._rows.keys()

    def of(self, kind: Kind) -> Iterator[Execution]:
        """Of one kind, the best to hand out first."""
        row = self._rows.get(kind, _Row())
        return itertools.chain(row.copied, row.fresh)

    def fresh(self, kind: Kind) -> Sequence[Execution]:
        """Of one kind those that have not copied their pages, oldest first."""
        return self._rows.get(kind, _Row()).fresh

    def count(self, kind: Kind) -> int:
        """How many of one kind."""
        row = self._rows.get(kind, _Row())
        return len(row.copied) + len(row.fresh)

    def most(self, kind: Kind) -> int:
        """The most bytes that one of this kind held."""
        return self._rows.get(kind, _Row()).most

    def ages(self) -> Iterator[float]:
        """Seconds, of the oldest of each list: nothing is older."""
        return (place[0].age for row in self._rows.values() for place in (row.copied, row.fresh) if place)

    def older_than(self, age: float) -> list[Execution]:
        """Those that are."""
        places = (place for row in self._rows.values() for place in (row.copied, row.fresh))
        return [made for place in places for made in itertools.takewhile(lambda made: made.age > age, place)]


def began(made: Execution) -> float:
    """What they are sorted by, the oldest first."""
    return made.began
