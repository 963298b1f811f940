"""What grows: memory with waiting sandboxes, latency with live ones, leftovers with jobs."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from casemate.bench import census, jobs
from casemate.bench.measure import Figure, Turns, ratio
from casemate.control.host import Host, Stock
from casemate.errors import SandboxFault

POINTS = (0, 25, 50, 75, 100)
"""Waiting CadQuery sandboxes at which memory is read."""
CAD_LIVE, SMALL_LIVE = (100, 300), (1000,)
AIMS = {("cad", 300): 1.15, ("small", 1000): 1.6}
JOBS, PEAKS = 1000, 20
PROCESSES = 3
"""Of a sandbox: its init, the execution's first process, the guest."""
ROOM = 3
"""Of a room with one template: its monitor, the zygote, the template."""
MIB = 1 << 20
_AGE, _MEMORY = 3600.0, 16 << 30


def run(turns: Turns) -> Iterator[Figure]:
    """Every figure of this suite."""
    yield _slope(turns)
    yield from _live("cad", CAD_LIVE, turns)
    yield from _live("small", SMALL_LIVE, turns)
    yield from _leftovers(turns)


def _filled(size: int, *, small: bool = False) -> Host:
    """A host with `size` sandboxes that wait; raises SandboxFault if they do not come."""
    host = Host(stock=Stock(size=size, age=_AGE, memory=_MEMORY))
    try:
        if small:
            jobs.empty(host)
        else:
            host.warm("cad")
        assert host.keeper_pid is not None
        wanted = ROOM + PROCESSES * size
        pid = host.keeper_pid
        if not census.wait_for(lambda: census.descendants(pid) >= wanted, 60.0 + size):
            found = census.descendants(pid)
            raise SandboxFault(f"{size} waiting sandboxes were asked for; {found} processes are there, not {wanted}")
    except BaseException:
        host.close()
        raise
    return host


def _slope(turns: Turns) -> Figure:
    """Least squares over POINTS, each in a host of its own."""
    used = []
    for size in POINTS:
        before = census.memory()
        with _filled(size):
            used.append(census.memory() - before)
        turns.tick()
    slope = statistics.linear_regression(POINTS, used).slope / MIB
    read = ", ".join(f"{size}: {value / MIB:.0f}" for size, value in zip(POINTS, used, strict=True))
    return Figure("memory of a waiting CadQuery sandbox", slope, "MiB", 2.5, detail=f"MiB of the machine at {read}")


def _live(kind: str, sizes: tuple[int, ...], turns: Turns) -> Iterator[Figure]:
    """Beside none: a host with its usual stock, and nothing else on the machine."""
    small = kind == "small"

    @contextmanager
    def beside(size: int) -> Iterator[Callable[[], object]]:
        with _filled(size, small=small) if size else Host() as host:
            yield partial(jobs.empty, host) if small else partial(_reference, host)

    for size in sizes:
        found = turns.alternated({"none": partial(beside, 0), "live": partial(beside, size)})
        what = "empty job" if small else "reference job"
        name = f"{what} beside {size} live {kind} sandboxes ÷ beside none"
        yield ratio(name, found["live"], found["none"], AIMS.get((kind, size)))


def _reference(host: Host) -> object:
    return jobs.reference(host, "cad")["total"]


def _leftovers(turns: Turns) -> Iterator[Figure]:
    with Host() as host:
        peaks = [jobs.good(host.run(jobs.REFERENCE)).usage.memory_peak for _ in range(PEAKS)]
        known = [peak for peak in peaks if peak is not None]
        jobs.empty(host)
        assert host.keeper_pid is not None
        before = _steady(host.keeper_pid)
        for number in range(JOBS):
            jobs.reference(host, "cad") if number % 2 else jobs.empty(host)
            if number % 10 == 0:
                turns.tick()
        left = _steady(host.keeper_pid) - before
    if known:
        detail = f"peak of its cgroup, largest of {len(known)}: {max(known) / MIB:.1f} MiB"
        yield Figure("memory of a CadQuery sandbox with a job", statistics.median(known) / MIB, "MiB", detail=detail)
    total = sum(abs(getattr(left, name)) for name in left.__slots__)
    detail = ", ".join(f"{name} {getattr(left, name):+d}" for name in left.__slots__)
    yield Figure(f"leftovers after {JOBS} jobs", float(total), "things", 0.0, detail=detail)


def _steady(keeper: int) -> census.Leftovers:
    """What is there once the stock is full again: the same count for a second."""
    found, since = census.leftovers(keeper), time.monotonic()
    end = since + 30.0
    while time.monotonic() < min(since + 1.0, end):
        time.sleep(0.05)
        if (now := census.leftovers(keeper)) != found:
            found, since = now, time.monotonic()
    return found
