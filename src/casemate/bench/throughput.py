"""How many jobs a second, beside unprotected workers and fresh processes, and beside the same forks without walls."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import partial

from casemate.bench import bare, jobs
from casemate.bench.measure import Figure, Series, interleaved, timed
from casemate.control.host import Host, Stock
from casemate.runtime.images import Image

AT_ONCE = (1, 2, 4, 8)
AIMED = 2
"""In flight, where the aims are set: as many as the machine has cores."""


def run(image: Image, tick: Callable[[], None]) -> Iterator[Figure]:
    """Every figure of this suite."""
    with Host() as pooled, Host(stock=Stock(size=0)) as lone:
        pooled.warm("cad")
        lone.warm("cad")
        for at_once in AT_ONCE:
            yield from _at(image, pooled, lone, at_once, tick)


def _at(image: Image, pooled: Host, lone: Host, at_once: int, tick: Callable[[], None]) -> Iterator[Figure]:
    sources = [jobs.REFERENCE] * max(4, 2 * at_once)
    aimed = at_once == AIMED
    with contextlib.ExitStack() as stack:
        plain = stack.enter_context(bare.workers("in-process", image, at_once))
        contenders: dict[str, Callable[[], object]] = {
            "plain": partial(_rate, partial(plain.run, sources), len(sources)),
            "cad": partial(_rate, partial(jobs.batch, pooled, "cad", sources, at_once), len(sources)),
            "fast": partial(_rate, partial(jobs.batch, pooled, "cad-fast", sources, at_once), len(sources)),
        }
        if aimed:
            forking = stack.enter_context(bare.workers("fork", image, at_once))
            contenders["fork"] = partial(_rate, partial(forking.run, sources), len(sources))
            contenders["lone"] = partial(_rate, partial(jobs.batch, lone, "cad-fast", sources, at_once), len(sources))
            once = sources[:at_once]
            contenders["fresh"] = partial(_rate, partial(bare.fresh, image, once, at_once), len(once))
        found = {name: _per_second(series) for name, series in interleaved(contenders, tick=tick).items()}
    what = f"jobs a second at {at_once} in flight"
    yield _over(f"{what}, cad-fast ÷ unprotected workers", found["fast"], found["plain"], 0.55 if aimed else None)
    yield _over(f"{what}, both stages ÷ unprotected workers", found["cad"], found["plain"], 0.33 if aimed else None)
    if aimed:
        yield _over(f"{what}, cad-fast ÷ fresh processes", found["fast"], found["fresh"], 25.0)
        yield _over(f"{what}, both stages ÷ fresh processes", found["cad"], found["fresh"], 15.0)
        yield _over(f"{what}, walls ÷ the same fork without them", found["fast"], found["fork"], 0.95)
        yield _over(f"{what}, no pool ÷ the same fork without walls", found["lone"], found["fork"])


def _rate(work: Callable[[], object], jobs_done: int) -> float:
    return jobs_done / timed(work)


def _per_second(series: Series) -> Series:
    return Series(series.name, series.samples, "/s")


def _over(name: str, ours: Series, theirs: Series, aim: float | None = None) -> Figure:
    detail = f"{ours.median:.2f} /s ÷ {theirs.median:.2f} /s"
    return Figure(name, ours.median / theirs.median, "ratio", aim, "higher", detail)
