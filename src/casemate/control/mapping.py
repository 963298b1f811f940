"""Many sources through one Host: ordered or as they complete, with back-pressure and constant memory.

At most `2 · jobs` sources are taken ahead of what was consumed, so an endless iterable may be given. A fault of ours
while one runs becomes a result with the reason `lost`; it never ends the others.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from casemate.control.runs import Cancellation
from casemate.model import RunResult

AHEAD = 2


class Stop:
    """Lets another thread end a map: it reaches the jobs that run, and those that were about to."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[Cancellation] = set()
        self.requested = False

    def request(self) -> None:
        """End it; its iterator stops when the jobs that run are over."""
        with self._lock:
            self.requested = True
            running = list(self._running)
        for cancellation in running:
            cancellation.request()

    def begin(self) -> Cancellation:
        """For one more job."""
        cancellation = Cancellation()
        with self._lock:
            self._running.add(cancellation)
            requested = self.requested
        if requested:
            cancellation.request()
        return cancellation

    def end(self, cancellation: Cancellation) -> None:
        """That job is over."""
        with self._lock:
            self._running.discard(cancellation)


def checked(sources: Iterable[str | bytes], jobs: int | None) -> int:
    """How many jobs at a time: one for each core that this process may use, unless the caller says otherwise.

    Raises TypeError for one source instead of several, ValueError for less than one job.
    """
    if isinstance(sources, (str, bytes)):
        raise TypeError("sources are several scripts, not one")
    if jobs is None:
        return len(os.sched_getaffinity(0))
    if type(jobs) is not int:
        raise TypeError(f"jobs is a number, not {type(jobs).__name__}")
    if jobs < 1:
        raise ValueError(f"jobs is {jobs}: at least one is needed")
    return jobs


def ordered(
    sources: Iterable[str | bytes], run: Callable[[str | bytes, Cancellation], RunResult], jobs: int
) -> Iterator[RunResult]:
    """Results in the order of the sources."""
    waiting: dict[int, RunResult] = {}
    turn = [0]
    for index, result in completed(sources, run, jobs, turn):
        waiting[index] = result
        while turn[0] in waiting:
            yield waiting.pop(turn[0])
            turn[0] += 1


def completed(
    sources: Iterable[str | bytes], run: Callable[[str | bytes, Cancellation], RunResult], jobs: int,
    turn: Sequence[int] | None = None, stop: Stop | None = None,
) -> Iterator[tuple[int, RunResult]]:  # fmt: skip
    """(index of the source, result), as they complete; no further than AHEAD · jobs beyond `turn[0]`, if given."""
    numbered = enumerate(sources)
    stop = stop or Stop()
    running: dict[Future[RunResult], tuple[int, Cancellation]] = {}
    pool = ThreadPoolExecutor(jobs, "casemate-map")
    try:
        taken = 0
        more = True
        while (more or running) and not stop.requested:
            while more and len(running) < jobs and (turn is None or taken < turn[0] + AHEAD * jobs):
                try:
                    index, source = next(numbered)
                except StopIteration:
                    more = False
                    break
                cancellation = stop.begin()
                running[pool.submit(run, source, cancellation)] = (index, cancellation)
                taken = index + 1
            if running:
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    index, cancellation = running.pop(future)
                    stop.end(cancellation)
                    yield index, future.result()
    finally:
        # The consumer has had enough, or failed: what still runs is of no use to anybody.
        stop.request()
        pool.shutdown()


async def asynchronous(
    start: Callable[[Stop], Iterator[tuple[int, RunResult]]],
) -> AsyncIterator[tuple[int, RunResult]]:
    """The same for a coroutine: each step waits in a thread of its own, and a task that is cancelled ends the jobs."""
    end = object()
    stop = Stop()
    results = start(stop)
    step: asyncio.Future[object] | None = None
    try:
        while True:
            step = asyncio.ensure_future(asyncio.to_thread(next, results, end))
            found = await asyncio.shield(step)
            if found is end:
                return
            assert isinstance(found, tuple)
            yield found
    finally:
        stop.request()
        if step is not None and not step.done():
            await asyncio.wait([step])  # the thread is in the iterator until its jobs are over
        close = getattr(results, "close", None)
        if close is not None:
            await asyncio.to_thread(close)
