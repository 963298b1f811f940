"""Many sources through one Host: ordered or as they complete, with back-pressure and constant memory.

At most `2 · jobs` sources are taken ahead of what was consumed, so an endless iterable may be given. A fault of ours
while one runs becomes a result with the reason `lost`; it never ends the others.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from casemate.control.runs import Cancellation
from casemate.model import RunResult

AHEAD = 2


def default_jobs() -> int:
    """One for each core that this process may use."""
    return len(os.sched_getaffinity(0))


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
    turn: Sequence[int] | None = None,
) -> Iterator[tuple[int, RunResult]]:  # fmt: skip
    """(index of the source, result), as they complete; no further than AHEAD · jobs beyond `turn[0]`, if given."""
    if jobs < 1:
        raise ValueError(f"jobs is {jobs}: at least one is needed")
    numbered = enumerate(sources)
    running: dict[Future[RunResult], tuple[int, Cancellation]] = {}
    pool = ThreadPoolExecutor(jobs, "casemate-map")
    try:
        taken = 0
        more = True
        while more or running:
            while more and len(running) < jobs and (turn is None or taken < turn[0] + AHEAD * jobs):
                try:
                    index, source = next(numbered)
                except StopIteration:
                    more = False
                    break
                cancellation = Cancellation()
                running[pool.submit(run, source, cancellation)] = (index, cancellation)
                taken = index + 1
            if running:
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    index, _ = running.pop(future)
                    yield index, future.result()
    finally:
        # The consumer has had enough, or failed: what still runs is of no use to anybody.
        for _, cancellation in running.values():
            cancellation.request()
        pool.shutdown()


async def asynchronous(results: Iterator[tuple[int, RunResult]]) -> AsyncIterator[tuple[int, RunResult]]:
    """The same for a coroutine: each step waits in a thread of its own."""
    end = object()
    try:
        while True:
            found = await asyncio.to_thread(next, results, end)
            if found is end:
                return
            assert isinstance(found, tuple)
            yield found
    finally:
        close = getattr(results, "close", None)
        if close is not None:
            await asyncio.to_thread(close)
