"""What is built ahead and what is ended, against expectations that were worked out by hand."""

from __future__ import annotations

import dataclasses
import math
import time
from dataclasses import dataclass
from typing import Any

import pytest
from launcher.examples import BOUNDS, WALLS

from casemate.launcher import stock
from casemate.launcher.execution import Phase
from casemate.launcher.preparation import Kind
from casemate.launcher.shelf import Shelf
from casemate.launcher.stock import Stock, Terms

A, B, C, D, E = (Kind("room-1", name, WALLS, BOUNDS) for name in "abcde")
MIB = 1 << 20


@dataclass(frozen=True)
class Made:
    """What the stock looks at of an execution."""

    kind: Kind
    phase: Phase = Phase.READY
    age: float = 1.0
    held: int = MIB
    run: object = None
    prefaulted: bool = False
    prefaulting: bool = False

    @property
    def began(self) -> float:
        return -self.age

    @property
    def usable(self) -> bool:
        return self.phase in (Phase.PREPARING, Phase.READY)

    @property
    def waiting(self) -> bool:
        return self.run is None and self.phase is Phase.READY


def shelved(*alive: Made) -> Shelf:
    shelf = Shelf()
    for made in alive:
        if made.waiting and not made.prefaulting:
            shelf.add(made)  # type: ignore[arg-type]
    return shelf


def awake(*alive: Made) -> list[Any]:
    return [made for made in alive if not made.waiting or made.prefaulting]


def surplus(kept: Stock, *alive: Made) -> list[Any]:
    return list(kept.surplus(shelved(*alive)))


def missing(kept: Stock, *alive: Made) -> Kind | None:
    return kept.missing(shelved(*alive), awake(*alive))


def idle(kept: Stock, *alive: Made) -> Any:
    return kept.idle(shelved(*alive), awake(*alive))


@pytest.fixture
def kept() -> Stock:
    """Two of each kind, ten seconds, four mebibytes, on two cores; kind A is wanted."""
    made = Stock(Terms(2, 10.0, 4 * MIB), 2)
    made.want(A)
    return made


# --- terms --------------------------------------------------------------------------------------------------------


def test_terms_are_written_and_read() -> None:
    assert Terms.parse("2,60.5,1048576") == Terms(2, 60.5, 1048576)
    assert str(Terms(2, 60.5, 1048576)) == "2,60.5,1048576"


@pytest.mark.parametrize("text", ["", "2,60", "2,60,1,1", "two,60,1", "2.0,60,1", "2,60,1MiB"])
def test_terms_that_say_something_else_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        Terms.parse(text)


# --- what is missing ----------------------------------------------------------------------------------------------


def test_nothing_is_built_that_nobody_wanted() -> None:
    assert missing(Stock(Terms(2, 10.0, 4 * MIB), 2)) is None


def test_nothing_is_built_at_size_zero() -> None:
    none = Stock(Terms(0, 10.0, 4 * MIB), 2)
    none.want(A)
    assert missing(none) is None
    assert surplus(none, made := Made(A)) == [made]


def test_one_after_the_other_until_there_are_enough(kept: Stock) -> None:
    assert missing(kept) == A
    assert missing(kept, Made(A)) == A
    assert missing(kept, Made(A), Made(A)) is None


def test_one_that_has_a_job_or_ends_is_not_in_stock(kept: Stock) -> None:
    assert missing(kept, Made(A), Made(A, run="job")) == A
    assert missing(kept, Made(A), Made(A, Phase.RUNNING, run="job")) == A
    assert missing(kept, Made(A), Made(A, Phase.ENDING)) == A


def test_one_that_is_being_built_counts(kept: Stock) -> None:
    # The second core is free, but two is enough.
    assert missing(kept, Made(A), Made(A, Phase.PREPARING, held=0)) is None


def test_another_kind_does_not_count(kept: Stock) -> None:
    assert missing(kept, Made(B), Made(B)) == A


@pytest.mark.parametrize(
    ("running", "preparing", "built"),
    [(0, 0, True), (5, 0, True), (0, 1, True), (1, 1, False), (0, 2, False), (5, 1, False)],
)
def test_building_goes_on_while_a_core_is_idle(kept: Stock, running: int, preparing: int, built: bool) -> None:
    # Two cores: one more while fewer than two are being built or run, or while none is being built.
    alive = [Made(B, Phase.RUNNING, run="job")] * running + [Made(B, Phase.PREPARING, held=0, run="job")] * preparing
    assert missing(kept, *alive) == (A if built else None)


def test_what_was_wanted_last_is_built_first(kept: Stock) -> None:
    kept.want(B)
    assert missing(kept) == B
    kept.want(A)
    assert missing(kept) == A
    assert missing(kept, Made(A), Made(A)) == B


def test_only_so_many_kinds_are_kept(kept: Stock) -> None:
    for kind in (B, C, D, E):
        kept.want(kind)
    full = [Made(kind, held=1) for kind in (E, D, C, B) for _ in range(2)]
    assert missing(kept, *full) is None  # A is the fifth: nobody wants it any more
    assert surplus(kept, *full, made := Made(A, held=1)) == [made]
    assert missing(kept, *full[:-1]) == B


def test_nothing_is_built_beyond_the_memory() -> None:
    kept = Stock(Terms(9, 10.0, 4 * MIB), 2)
    kept.want(A)
    three = [Made(A, held=3 * MIB // 2)] * 2
    assert surplus(kept, *three) == []  # from here on it is known that one takes a mebibyte and a half
    assert missing(kept, *three) is None  # 3 + 1.5 > 4
    assert missing(kept, three[0]) == A  # 1.5 + 1.5


def test_a_kind_that_is_larger_than_the_memory_is_built_once() -> None:
    kept = Stock(Terms(1, 10.0, MIB), 2)
    kept.want(A)
    assert missing(kept) == A
    assert surplus(kept, made := Made(A, held=2 * MIB)) == [made]
    assert missing(kept) is None


def test_after_a_failure_there_is_a_pause(kept: Stock, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.monotonic()
    monkeypatch.setattr(stock.time, "monotonic", lambda: now)
    kept.pause()
    assert missing(kept) is None
    monkeypatch.setattr(stock.time, "monotonic", lambda: now + 0.9)
    assert missing(kept) is None
    monkeypatch.setattr(stock.time, "monotonic", lambda: now + 1.1)
    assert missing(kept) == A


def test_the_stock_is_looked_at_when_a_pause_ends_and_when_one_becomes_too_old(
    kept: Stock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def next_time(*alive: Made) -> float:
        return kept.next_time(shelved(*alive), 100.0)

    assert next_time() == math.inf
    # Ten seconds are the age; one that has a job is not in stock.
    assert next_time(Made(A, age=1.0), Made(A, age=4.0), Made(A, age=8.0, run="job")) == 106.0
    assert next_time(Made(A, age=11.0)) == 100.0
    monkeypatch.setattr(stock.time, "monotonic", lambda: 99.5)
    kept.pause()  # for a second
    assert next_time() == 100.5
    assert next_time(Made(A, age=1.0)) == 100.5
    assert next_time(Made(A, age=9.75)) == 100.25
    assert kept.next_time(Shelf(), 101.0) == math.inf


# --- what must go -------------------------------------------------------------------------------------------------


def test_what_is_young_wanted_and_small_stays(kept: Stock) -> None:
    assert surplus(kept, Made(A, age=0.1), Made(A, age=9.9)) == []


def test_what_is_too_old_goes(kept: Stock) -> None:
    assert surplus(kept, Made(A, age=9.9), made := Made(A, age=10.1)) == [made]
    assert kept.expired(Made(A, age=10.1))  # type: ignore[arg-type]
    assert not kept.expired(Made(A, age=9.9))  # type: ignore[arg-type]


def test_what_has_a_job_or_is_not_ready_is_left_alone(kept: Stock) -> None:
    old = [Made(A, phase, age=99.0, run=run) for phase, run in (
        (Phase.PREPARING, None), (Phase.PREPARING, "job"), (Phase.READY, "job"), (Phase.RUNNING, "job"),
        (Phase.ENDING, None), (Phase.ENDING, "job"),
    )]  # fmt: skip
    assert surplus(kept, *old) == []


def test_beyond_the_memory_the_oldest_go(kept: Stock) -> None:
    young, middle, old = (Made(A, age=age, held=3 * MIB // 2) for age in (1.0, 2.0, 3.0))
    assert surplus(kept, old, young, middle) == [old]  # 1.5 + 1.5 fit into 4, the third does not
    huge = Made(A, age=0.5, held=5 * MIB)
    assert surplus(kept, young, huge) == [huge]


def test_what_nobody_wants_goes(kept: Stock) -> None:
    assert surplus(kept, Made(A), made := Made(B)) == [made]
    kept.clear()
    assert surplus(kept, made := Made(A)) == [made]
    assert missing(kept) is None


def test_what_belongs_to_a_lost_room_goes(kept: Stock) -> None:
    other = dataclasses.replace(A, room="room-2")
    kept.want(other)
    kept.forget("room-1")
    assert surplus(kept, Made(other), made := Made(A)) == [made]
    assert missing(kept) == other


# --- what copies its pages ahead ----------------------------------------------------------------------------------


def test_the_oldest_that_has_no_copies_takes_them(kept: Stock) -> None:
    old, young = Made(A, age=3.0), Made(A, age=2.0)
    assert idle(kept, young, Made(A, age=4.0, prefaulted=True), old) is old
    assert idle(kept, Made(A, prefaulted=True)) is None
    assert idle(kept) is None


def test_as_many_of_a_kind_as_there_are_cores_have_copies(kept: Stock) -> None:
    copied, copying = Made(A, prefaulted=True), Made(A, prefaulting=True)
    assert idle(kept, Made(A), copied, copied) is None
    assert idle(kept, Made(A), copied, copying) is None


@pytest.mark.parametrize(
    ("busy", "goes_on"),
    [
        ([Made(B, Phase.RUNNING, run="job")], True),
        ([Made(B, Phase.RUNNING, run="job")] * 2, False),
        ([Made(B, Phase.RUNNING, run="job"), Made(B, Phase.PREPARING, held=0)], False),
        ([Made(B, Phase.RUNNING, run="job"), Made(B, prefaulting=True)], False),
        ([Made(B, Phase.ENDING, run="job")] * 2, True),
    ],
)
def test_copies_are_taken_while_a_core_is_idle(kept: Stock, busy: list[Made], goes_on: bool) -> None:
    assert (idle(kept, Made(A), *busy) is not None) is goes_on


# --- the shelf ----------------------------------------------------------------------------------------------------


def test_the_best_to_hand_out_has_its_copies_and_is_the_oldest() -> None:
    fresh = [Made(A, age=age) for age in (9.0, 3.0)]
    copied = [Made(A, age=age, prefaulted=True) for age in (5.0, 2.0)]
    shelf = shelved(fresh[1], copied[1], Made(B, age=50.0), fresh[0], copied[0])
    assert list(shelf.of(A)) == [*copied, *fresh]  # type: ignore[comparison-overlap]
    assert [shelf.count(kind) for kind in (A, B, C)] == [4, 1, 0]
    assert sorted(shelf.ages()) == [5.0, 9.0, 50.0]


def test_what_is_taken_off_is_not_there_any_more() -> None:
    twins = [Made(A, held=1), Made(A, held=2), Made(A, held=4)]  # all of one age
    shelf = shelved(*twins)
    for left, made in ((6, twins[0]), (2, twins[2]), (0, twins[1])):
        shelf.discard(made)  # type: ignore[arg-type]
        shelf.discard(made)  # type: ignore[arg-type]
        assert shelf.held == left
        assert made not in list(shelf.of(A))  # type: ignore[comparison-overlap]
    assert not shelf.kinds()


# --- kinds --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "other",
    [
        dataclasses.replace(A, room="room-2"),
        dataclasses.replace(A, template="b"),
        dataclasses.replace(A, walls=dataclasses.replace(WALLS, file_size=WALLS.file_size + 1)),
        dataclasses.replace(A, walls=dataclasses.replace(WALLS, seccomp="AAAA")),
        dataclasses.replace(A, bounds=dataclasses.replace(BOUNDS, memory=BOUNDS.memory - 1)),
        dataclasses.replace(A, bounds=dataclasses.replace(BOUNDS, wall=59.0)),
    ],
    ids=["room", "template", "file size", "system calls", "memory", "wall time"],
)
def test_a_job_of_another_room_template_or_policy_is_another_kind(other: Kind, kept: Stock) -> None:
    assert other != A
    assert dataclasses.replace(A) == A
    assert hash(dataclasses.replace(A)) == hash(A)
    assert missing(kept, Made(other), Made(other)) == A
    assert surplus(kept, made := Made(other)) == [made]
