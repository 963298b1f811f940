"""`Host.map`: order, back-pressure, neighbours, and the end of a consumer."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Iterator

import pytest
from harness import wait_until

from casemate import Host, Reason, SandboxFault
from casemate.control import mapping, runs


def box(height: int) -> str:
    return f"import cadquery as cq\nresult = cq.Workplane().box(1, 2, {height})\n"


def test_results_come_in_the_order_of_the_sources(host: Host, profile: str) -> None:
    heights = (5, 1, 4, 2, 3)
    found = list(host.map((box(height) for height in heights), profile, jobs=2))
    assert [result.parts[0].facts.volume for result in found if result.parts[0].facts] == pytest.approx(
        [2 * height for height in heights]
    )


def test_a_poisoned_script_disturbs_no_neighbour(host: Host, profile: str) -> None:
    sources = [box(1), "import os\n", box(2), "raise ValueError('x')\n", "exit(0)\n", box(3)]
    found = dict(host.map_completed(sources, profile, jobs=2))
    assert [found[index].ok for index in range(6)] == [True, False, True, False, False, True]
    assert [found[index].outcome.reason for index in (1, 3, 4)] == [Reason.POLICY, Reason.EXITED, Reason.EXITED]


def test_async_twin(host: Host, profile: str) -> None:
    async def collect() -> dict[int, float]:
        found = {}
        async for index, result in host.amap([box(1), box(2)], profile, jobs=2):
            facts = result.parts[0].facts
            assert facts is not None
            found[index] = facts.volume
        return found

    assert asyncio.run(collect()) == pytest.approx({0: 2, 1: 4})


class Counted:
    """A stand-in for the run of one source, to look at the order of events alone."""

    def __init__(self) -> None:
        self.hold = threading.Event()
        self.cancelled: list[object] = []

    def __call__(self, source: str | bytes, cancellation: runs.Cancellation) -> object:
        if source == "slow":
            cancellation.watch(lambda: (self.cancelled.append(source), self.hold.set()))
            assert self.hold.wait(30)
        return source


def test_an_endless_iterable_is_taken_only_as_far_as_it_is_consumed() -> None:
    taken: list[int] = []

    def sources() -> Iterator[str]:
        for number in itertools.count():
            taken.append(number)
            yield str(number)

    results = mapping.ordered(sources(), Counted(), 3)  # type: ignore[arg-type]
    assert [next(results) for _ in range(10)] == [str(number) for number in range(10)]
    assert len(taken) <= 10 + mapping.AHEAD * 3
    results.close()  # type: ignore[attr-defined]


def test_a_slow_first_one_holds_the_others_back() -> None:
    counted = Counted()
    taken: list[str] = []
    sources = ("slow" if number == 0 else str(number) for number in itertools.count())
    results = mapping.ordered((taken.append(s) or s for s in sources), counted, 2)  # type: ignore[func-returns-value, arg-type]
    first: list[object] = []
    thread = threading.Thread(target=lambda: first.append(next(results)))
    thread.start()
    assert wait_until(lambda: len(taken) == mapping.AHEAD * 2, 10)
    counted.hold.set()
    thread.join(10)
    assert first == ["slow"]
    results.close()  # type: ignore[attr-defined]


def test_a_consumer_that_stops_ends_what_still_runs() -> None:
    counted = Counted()
    results = mapping.completed(iter(["quick", "slow", "slow"]), counted, 2)  # type: ignore[arg-type]
    assert next(results) == (0, "quick")
    results.close()  # type: ignore[attr-defined]
    assert counted.cancelled == ["slow"]


def test_a_fault_of_ours_is_a_lost_result_and_no_success(
    host: Host, profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise SandboxFault("the template ended")

    monkeypatch.setattr(Host, "execute", broken)
    (result,) = host.map([box(1)], profile)
    assert (result.outcome.reason, result.ok) == (Reason.LOST, False)


def test_no_jobs_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        next(mapping.completed(["x"], Counted(), 0))  # type: ignore[arg-type]
