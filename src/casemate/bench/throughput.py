"""How many jobs a second, beside unprotected workers and fresh processes, and beside the same forks without walls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from casemate.bench import bare, jobs
from casemate.bench.measure import Figure, Series, Turns, timed
from casemate.control.host import Host, Stock
from casemate.runtime.images import Image

AT_ONCE = (1, 2, 4, 8)
AIMED = 2
"""In flight, where the aims are set: as many as the machine has cores."""


def run(image: Image, turns: Turns) -> Iterator[Figure]:
    """Every figure of this suite."""
    with (
        Host() as pooled,
        Host(stock=Stock(size=0)) as lone,
        bare.workers("in-process", image, max(AT_ONCE)) as plain,
        bare.workers("fork", image, AIMED) as forking,
    ):
        pooled.warm("cad")
        lone.warm("cad")
        for at_once in AT_ONCE:
            sources = [jobs.REFERENCE] * max(4, 2 * at_once)
            once = sources[:at_once]
            contenders: dict[str, Callable[[], object]] = {
                "plain": partial(_rate, partial(plain.run, sources, at_once), len(sources)),
                "cad": partial(_rate, partial(jobs.batch, pooled, "cad", sources, at_once), len(sources)),
                "fast": partial(_rate, partial(jobs.batch, pooled, "cad-fast", sources, at_once), len(sources)),
                "fresh": partial(_rate, partial(bare.fresh, image, once, at_once), len(once)),
            }
            if at_once == AIMED:
                lonely = partial(jobs.batch, lone, "cad-fast", sources, at_once)
                contenders |= {
                    "fork": partial(_rate, partial(forking.run, sources, at_once), len(sources)),
                    "lone": partial(_rate, lonely, len(sources)),
                }
            yield from _figures(at_once, turns.interleaved(contenders))


def _figures(at_once: int, measured: Mapping[str, Series]) -> Iterator[Figure]:
    found = {name: _per_second(series) for name, series in measured.items()}
    aimed = at_once == AIMED
    what = f"jobs a second at {at_once} in flight"
    yield _over(f"{what}, cad-fast ÷ unprotected workers", found["fast"], found["plain"], 0.55 if aimed else None)
    yield _over(f"{what}, both stages ÷ unprotected workers", found["cad"], found["plain"], 0.33 if aimed else None)
    yield _over(f"{what}, cad-fast ÷ fresh processes", found["fast"], found["fresh"], 25.0 if aimed else None)
    yield _over(f"{what}, both stages ÷ fresh processes", found["cad"], found["fresh"], 15.0 if aimed else None)
    if aimed:
        yield _over(f"{what}, walls ÷ the same fork without them", found["fast"], found["fork"], 0.95)
        yield _over(f"{what}, no pool ÷ the same fork without walls", found["lone"], found["fork"])


def _rate(work: Callable[[], object], jobs_done: int) -> float:
    return jobs_done / timed(work)


def _per_second(series: Series) -> Series:
    return Series(series.name, series.samples, "/s")


def _over(name: str, ours: Series, theirs: Series, aim: float | None = None) -> Figure:
    return Figure(name, ours.median / theirs.median, "ratio", aim, "higher", f"{_told(ours)} ÷ {_told(theirs)}")


def _told(series: Series) -> str:
    """The p99 of what a job takes is the first percentile of jobs a second."""
    return f"{series.median:.2f} /s (p99 {series.percentile(0.01):.2f})"
