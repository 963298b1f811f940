"""Many sources through one Host: ordered or as they complete, with back-pressure and constant memory.

At most `2 · jobs` sources (or `ahead`) are taken ahead of what was consumed, so an endless iterable may be given. They
are taken in a thread of their own: a source that waits for its next script holds no result back. A fault of ours while
one runs becomes a result with the reason `lost`; it never ends the others.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from casemate.control.runs import Cancellation

_S = TypeVar("_S")
"""A source: text or bytes, or whatever the run of one takes."""
_R = TypeVar("_R")
"""A result."""
_T = TypeVar("_T")
AHEAD = 2
Run = Callable[[_S, Cancellation], _R]


def checked(sources: Iterable[object], jobs: int | None) -> int:
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


class Mapping(Generic[_S, _R]):
    """One map under way: takes sources, runs `jobs` of them at a time, and keeps results until they are consumed.

    `ahead` is how many sources are taken beyond what was consumed (default: twice `jobs`). `changed` is called from any
    of its threads when `next_result` may give something else than before.
    """

    def __init__(
        self, sources: Iterable[_S], run: Run[_S, _R], jobs: int, *, ahead: int | None = None,
        changed: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        self._sources = iter(sources)
        self._run = run
        self._jobs = jobs
        self._ahead = AHEAD * jobs if ahead is None else ahead
        self._changed = changed
        self._state = threading.Condition()
        self._running: dict[Future[_R], tuple[int, Cancellation]] = {}
        self._results: deque[tuple[int, Future[_R]]] = deque()
        self._taken = self._consumed = 0
        self._in_source = False
        self._stopped = False
        self._over = False
        """True: no more will be taken."""
        self._error: BaseException | None = None
        self._pool = ThreadPoolExecutor(jobs, "casemate-map")
        self.over: SimpleQueue[bool] = SimpleQueue()
        """True: it was closed; False: it was dropped. Its put() may be called by a finaliser (queue.SimpleQueue)."""
        # Nobody can interrupt a source that waits, so its thread keeps no process from ending.
        for work, name in ((self._take, "source"), (self._reap, "end")):
            threading.Thread(target=work, name=f"casemate-map-{name}", daemon=True).start()

    def _take(self) -> None:
        try:
            while self._may_take():
                try:
                    source = next(self._sources)
                except StopIteration:
                    return
                finally:
                    with self._state:
                        self._in_source = False
                self._begin(source)
        except BaseException as error:  # the source's own: raised where its results are consumed
            self._error = error
        finally:
            with self._state:
                self._over = True
                self._state.notify_all()
            self._changed()

    def _reap(self) -> None:
        if not self.over.get():
            self.close()

    def _may_take(self) -> bool:
        with self._state:
            self._state.wait_for(
                lambda: (
                    self._stopped or (len(self._running) < self._jobs and self._taken < self._consumed + self._ahead)
                )
            )
            self._in_source = not self._stopped
            return self._in_source

    def _begin(self, source: _S) -> None:
        cancellation = Cancellation()
        with self._state:
            if self._stopped:
                return
            future = self._pool.submit(self._run, source, cancellation)
            self._running[future] = (self._taken, cancellation)
            self._taken += 1
        future.add_done_callback(self._end)

    def _end(self, future: Future[_R]) -> None:
        with self._state:
            index, _ = self._running.pop(future)
            self._results.append((index, future))
            self._state.notify_all()
        self._changed()

    def next_result(self) -> tuple[int, _R] | None:
        """One that is there, or None; raises what the run of it raised."""
        with self._state:
            if not self._results:
                return None
            index, future = self._results.popleft()
        return index, future.result()

    def consumed(self) -> None:
        """One of the results is the consumer's now: another source may be taken."""
        with self._state:
            self._consumed += 1
            self._state.notify_all()

    def finished(self) -> bool:
        """True if no result will come any more; raises the sources' own error."""
        with self._state:
            over = self._over and not self._running and not self._results
        if over and self._error is not None:
            raise self._error
        return over

    def wait(self) -> None:
        """Until there is a result, or none will come any more."""
        with self._state:
            self._state.wait_for(lambda: self._results or (self._over and not self._running))

    def stop(self) -> None:
        """Take no more, and kill what runs."""
        with self._state:
            self._stopped = True
            running = [cancellation for _, cancellation in self._running.values()]
            self._state.notify_all()
        for cancellation in running:
            cancellation.request()

    def idle(self) -> bool:
        """True if nothing runs, and nothing will be begun once this was stopped."""
        with self._state:
            return not self._running and (self._over or self._in_source)

    def close(self) -> None:
        """Stop, and wait until the jobs are over; a source that is waiting is left to itself."""
        self.stop()
        with self._state:
            self._state.wait_for(lambda: self._over or self._in_source)
        self._pool.shutdown(cancel_futures=True)
        self.over.put(True)


class Results(Iterator[_T]):
    """The consumer's end of a map, which begins with the first result that is asked for.

    `close`, the end, and an error wait until the jobs are over. One that is merely dropped is collected in any thread,
    also in one that the jobs need: so its finaliser waits for nothing, takes no lock, and leaves the end to `_reap`.
    """

    def __init__(self, begin: Callable[[], Mapping[_S, _R]], steps: Callable[[Mapping[_S, _R]], Iterator[_T]]) -> None:
        self._begin, self._steps = begin, steps
        self._under_way: Mapping[Any, Any] | None = None
        self._rest: Iterator[_T] = iter(())
        self._closed = False

    def __next__(self) -> _T:
        if self._under_way is None and not self._closed:
            self._under_way = self._begin()
            self._rest = self._steps(self._under_way)
        try:
            return next(self._rest)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End it: what still runs is killed, and waited for."""
        self._closed, self._rest = True, iter(())
        if self._under_way is not None:
            self._under_way.close()

    def __del__(self) -> None:
        if self._under_way is not None:
            self._under_way.over.put(False)


def ordered(sources: Iterable[_S], run: Run[_S, _R], jobs: int, ahead: int | None = None) -> Results[_R]:
    """Results in the order of the sources; `ahead` as of `Mapping`."""
    return Results(lambda: Mapping(sources, run, jobs, ahead=ahead), _in_order)


def completed(sources: Iterable[_S], run: Run[_S, _R], jobs: int) -> Results[tuple[int, _R]]:
    """(index of the source, result), as they complete."""
    return Results(lambda: Mapping(sources, run, jobs), _as_completed)


def _in_order(under_way: Mapping[_S, _R]) -> Iterator[_R]:
    waiting: dict[int, _R] = {}
    turn = 0
    for index, result in _results(under_way):
        waiting[index] = result
        while turn in waiting:
            yield waiting.pop(turn)
            under_way.consumed()
            turn += 1


def _as_completed(under_way: Mapping[_S, _R]) -> Iterator[tuple[int, _R]]:
    for found in _results(under_way):
        yield found
        under_way.consumed()


def _results(under_way: Mapping[_S, _R]) -> Iterator[tuple[int, _R]]:
    while not under_way.finished():
        under_way.wait()
        if (found := under_way.next_result()) is not None:
            yield found


async def asynchronous(sources: Iterable[_S], run: Run[_S, _R], jobs: int) -> AsyncIterator[tuple[int, _R]]:
    """As `completed`, for a coroutine: no thread waits for a result, and a task that is cancelled ends the jobs."""
    loop = asyncio.get_running_loop()
    event = asyncio.Event()
    under_way = Mapping(sources, run, jobs, changed=lambda: _tell(loop, event))
    try:
        while not under_way.finished():
            event.clear()
            while (found := under_way.next_result()) is not None:
                yield found
                under_way.consumed()
            if not under_way.finished():
                await event.wait()
    finally:
        under_way.stop()
        while True:
            event.clear()
            if under_way.idle():
                break
            await event.wait()
        under_way.close()


def _tell(loop: asyncio.AbstractEventLoop, event: asyncio.Event) -> None:
    with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
        loop.call_soon_threadsafe(event.set)
