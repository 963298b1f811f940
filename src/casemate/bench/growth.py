"""What grows: memory with waiting sandboxes, latency with live ones, leftovers with jobs."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from functools import partial

from casemate.bench import census, jobs
from casemate.bench.measure import Figure, Turns
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
    small = kind == "small"
    for size in sizes:
        with Host() as alone, _filled(size, small=small) as crowded:
            alone.warm("cad")
            job = (lambda host: jobs.empty(host)) if small else (lambda host: jobs.reference(host, "cad")["total"])
            found = turns.interleaved({"alone": partial(job, alone), "crowded": partial(job, crowded)})
        value = found["crowded"].median / found["alone"].median
        detail = f"{found['crowded'].median * 1000:.1f} ms ÷ {found['alone'].median * 1000:.1f} ms"
        what = "empty job" if small else "reference job"
        name = f"{what} beside {size} live {kind} sandboxes ÷ beside none"
        yield Figure(name, value, "ratio", AIMS.get((kind, size)), detail=detail)


def _leftovers(turns: Turns) -> Iterator[Figure]:
    with Host(stock=Stock(size=0)) as host:
        jobs.empty(host)
        peaks = [jobs.good(host.run(jobs.REFERENCE)).usage.memory_peak for _ in range(PEAKS)]
        known = [peak for peak in peaks if peak is not None]
        assert host.keeper_pid is not None
        before = census.leftovers(host.keeper_pid)
        for number in range(JOBS):
            jobs.empty(host) if number % 20 else jobs.reference(host, "cad")
            if number % 10 == 0:
                turns.tick()
        left = census.leftovers(host.keeper_pid) - before
    if known:
        detail = f"peak of its cgroup, largest of {len(known)}: {max(known) / MIB:.1f} MiB"
        yield Figure("memory of a CadQuery sandbox with a job", statistics.median(known) / MIB, "MiB", detail=detail)
    total = sum(abs(getattr(left, name)) for name in left.__slots__)
    detail = ", ".join(f"{name} {getattr(left, name):+d}" for name in left.__slots__)
    yield Figure(f"leftovers after {JOBS} jobs", float(total), "things", 0.0, detail=detail)
