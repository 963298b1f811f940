"""`Host.map`: order, back-pressure, neighbours, and the end of a consumer."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from harness import wait_until

from casemate import Host, Reason, SandboxFault, Verdict
from casemate.control import mapping, runs


def box(height: int) -> str:
    return f"import cadquery as cq\nresult = cq.Workplane().box(1, 2, {height})\n"


SKETCH = "import cadquery as cq\nresult = cq.Sketch().rect(2, 3)\n"


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
        self.waits = False

    def __call__(self, source: str | bytes, cancellation: runs.Cancellation) -> object:
        if source == "slow":
            cancellation.watch(lambda: (self.cancelled.append(source), self.hold.set()))
            self.waits = True
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


class Result:
    """Something that can be counted for as long as anybody holds it."""


@pytest.mark.parametrize("kind", [mapping.ordered, mapping.completed])
def test_no_more_results_are_held_than_wait(kind: Any) -> None:
    alive: weakref.WeakSet[Result] = weakref.WeakSet()

    def run(source: str, cancellation: runs.Cancellation) -> Result:
        result = Result()
        alive.add(result)
        return result

    most = 0
    for _ in kind(map(str, range(2_000)), run, 2):
        most = max(most, len(alive))
    assert 1 <= most <= mapping.AHEAD * 2 + 2  # what waits, what is being made, and the consumer's own


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
    assert wait_until(lambda: counted.waits, 30)
    results.close()  # type: ignore[attr-defined]
    assert counted.cancelled
    assert set(counted.cancelled) == {"slow"}


def test_a_fault_of_ours_is_a_lost_result_and_no_success(
    host: Host, profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise SandboxFault("the template ended")

    monkeypatch.setattr(Host, "execute", broken)
    (result,) = host.map([box(1)], profile)
    assert (result.outcome.reason, result.ok) == (Reason.LOST, False)


@pytest.mark.parametrize("jobs", [0, -1])
def test_no_jobs_is_refused_at_once(jobs: int, host: Host, profile: str) -> None:
    for start in (host.map, host.map_completed, host.amap):
        with pytest.raises(ValueError, match="at least one"):
            start([box(1)], profile, jobs=jobs)


@pytest.mark.parametrize("jobs", [1.5, True, "2"])
def test_jobs_are_a_whole_number(jobs: Any, host: Host, profile: str) -> None:
    with pytest.raises(TypeError, match="jobs is a number"):
        host.map([box(1)], profile, jobs=jobs)


def test_one_script_is_not_several(host: Host, profile: str) -> None:
    with pytest.raises(TypeError, match="several scripts"):
        host.map(box(1), profile)


def test_a_task_that_is_cancelled_ends_its_jobs() -> None:
    counted = Counted()

    async def consume() -> None:
        async for _ in mapping.asynchronous(["quick", "slow", "slow"], counted, 2):  # type: ignore[arg-type]
            pass

    async def cancel() -> None:
        task = asyncio.ensure_future(consume())
        while not counted.waits:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    assert counted.cancelled
    assert set(counted.cancelled) == {"slow"}


class Waiting:
    """Gives what it has, then waits for more until it is let go."""

    def __init__(self, *sources: str) -> None:
        self.sources = sources
        self.asked = threading.Event()
        self.more = threading.Event()

    def __iter__(self) -> Iterator[str]:
        yield from self.sources
        self.asked.set()
        assert self.more.wait(30)
        yield "last"


@pytest.mark.parametrize("kind", [mapping.ordered, mapping.completed])
def test_a_result_does_not_wait_for_the_next_source(kind: Any) -> None:
    sources = Waiting("first")
    results = kind(sources, Counted(), 2)
    found = [next(results)]
    assert sources.asked.wait(30)
    assert not sources.more.is_set()
    sources.more.set()
    assert [*found, *results] == (["first", "last"] if kind is mapping.ordered else [(0, "first"), (1, "last")])


@pytest.mark.parametrize("kind", [mapping.ordered, mapping.completed])
def test_a_source_that_waits_keeps_nobody_from_stopping(kind: Any) -> None:
    counted = Counted()
    sources = Waiting("quick", "slow")
    results = kind(sources, counted, 3)
    next(results)
    assert sources.asked.wait(30)
    assert wait_until(lambda: counted.waits, 30)
    results.close()
    assert counted.cancelled == ["slow"]
    sources.more.set()


def test_a_source_that_waits_keeps_no_task_from_being_cancelled() -> None:
    counted = Counted()
    sources = Waiting("quick", "slow")

    async def consume() -> None:
        async for _ in mapping.asynchronous(sources, counted, 3):  # type: ignore[arg-type]
            pass

    async def cancel() -> None:
        task = asyncio.ensure_future(consume())
        while not (sources.asked.is_set() and counted.waits):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    assert counted.cancelled == ["slow"]
    sources.more.set()


@pytest.mark.parametrize("kind", [mapping.ordered, mapping.completed])
def test_an_error_of_the_sources_comes_after_the_results_of_what_they_gave(kind: Any) -> None:
    def sources() -> Iterator[str]:
        yield from ("0", "1", "2")
        raise OSError("the disk is gone")

    results = kind(sources(), Counted(), 2)
    found = [next(results) for _ in range(3)]
    assert sorted(found) == (["0", "1", "2"] if kind is mapping.ordered else [(0, "0"), (1, "1"), (2, "2")])
    with pytest.raises(OSError, match="the disk is gone"):
        next(results)


class Stubborn(Counted):
    """Its slow one is over when it is let go, and not when it is cancelled."""

    def __call__(self, source: str | bytes, cancellation: runs.Cancellation) -> object:
        if source == "slow":
            cancellation.watch(lambda: self.cancelled.append(source))
            self.waits = True
            assert self.hold.wait(30)
        return source


def dropped(kind: Any) -> list[str]:
    """What came first: that a map with a job was dropped, as the collector drops it, or that the job was let go."""
    stubborn, order = Stubborn(), list[str]()
    held = [kind(iter(["quick", "slow"]), stubborn, 2)]
    next(held[0])
    assert wait_until(lambda: stubborn.waits, 10)
    thread = threading.Thread(target=lambda: (held.clear(), order.append("dropped")))
    thread.start()
    assert wait_until(lambda: stubborn.cancelled == ["slow"], 10)
    if mapping.Results.__del__ is DROP:
        thread.join(10)  # it waits for nobody
    order.append("let go")
    stubborn.hold.set()
    thread.join(10)
    return order


DROP = mapping.Results.__del__


@pytest.mark.parametrize("kind", [mapping.ordered, mapping.completed])
def test_one_that_is_dropped_ends_its_jobs_and_holds_nobody_up(kind: Any) -> None:
    assert dropped(kind) == ["dropped", "let go"]


def test_twin_a_finaliser_that_closes_waits_in_whatever_thread_collects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapping.Results, "__del__", mapping.Results.close)
    assert dropped(mapping.completed) == ["let go", "dropped"]


def test_a_host_that_is_closed_ends_its_maps(profile: str) -> None:
    with Host() as host:
        results = host.map_completed(itertools.repeat(box(1)), profile, jobs=2)
        next(results)
    with pytest.raises(SandboxFault, match="closed"):
        list(itertools.islice(results, 1000))


def test_more_maps_than_the_loop_has_threads_wait_for_none_of_them() -> None:
    counted = Counted()

    async def first(number: int) -> object:
        async for found in mapping.asynchronous([str(number)], counted, 1):  # type: ignore[arg-type]
            return found
        raise AssertionError("no result")

    async def all_of_them() -> list[object]:
        asyncio.get_running_loop().set_default_executor(Unusable())
        return await asyncio.gather(*map(first, range(50)))

    assert asyncio.run(all_of_them()) == [(0, str(number)) for number in range(50)]


class Unusable(ThreadPoolExecutor):
    """The loop's own threads, all of them taken."""

    def submit(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("the loop's threads are the application's")


def test_an_arun_takes_none_of_the_loops_threads(host: Host, profile: str) -> None:
    async def both() -> list[bool]:
        asyncio.get_running_loop().set_default_executor(Unusable())
        return [result.ok for result in await asyncio.gather(*(host.arun(box(n), profile) for n in (1, 2)))]

    assert asyncio.run(both()) == [True, True]


def test_a_cancelled_map_kills_what_runs(host: Host, profile: str) -> None:
    hang = "while True:\n    pass\n"

    async def limited() -> None:
        async with asyncio.timeout(3):
            async for _ in host.amap([hang, hang], profile, jobs=2):
                pass

    began = time.monotonic()
    with pytest.raises(TimeoutError):
        asyncio.run(limited())
    # Its own wall clock would have ended it after 60 seconds.
    assert time.monotonic() - began < 45


@pytest.mark.parametrize(("name", "trusted"), [("cad", True), ("cad-fast", False)])
def test_every_result_says_whether_it_can_be_trusted(host: Host, name: str, trusted: bool) -> None:
    too_long = "x = 1\n" * 50_000
    results = [host.run(source, name) for source in (box(1), "import os\n", "1 / 0\n", too_long)]
    results += [host.run(box(1), name, deadline=-1.0), host.check(box(1), name)]
    assert [result.trusted for result in results] == [trusted] * 6


@pytest.mark.parametrize(("source", "verdict"), [(box(3), Verdict.PART), (SKETCH, Verdict.NO_SOLID)])
def test_what_an_honest_script_claims_is_what_the_second_stage_finds(host: Host, source: str, verdict: Verdict) -> None:
    inspected, claimed = (host.run(source, profile).parts[0] for profile in ("cad", "cad-fast"))
    assert (inspected.verdict, claimed.verdict) == (verdict, verdict)
    assert inspected.facts is not None
    assert claimed.facts is not None
    assert claimed.facts.volume == pytest.approx(inspected.facts.volume, rel=1e-9)
    assert claimed.facts.bounding_box == pytest.approx(inspected.facts.bounding_box, abs=1e-6)
    counts = ("solids", "faces", "edges", "valid")  # a STEP puts a lone face into a shell
    assert [getattr(claimed.facts, name) for name in counts] == [getattr(inspected.facts, name) for name in counts]
