"""The suites by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from casemate.bench import bare, cad, growth, jobs, latency, peers, throughput
from casemate.bench.commands import interpreter
from casemate.bench.measure import Figure, Turns, ratio
from casemate.control.host import Host, Stock
from casemate.runtime.images import Image

NAMES = ("latency", "throughput", "growth", "peers", "cad")


def run(name: str, image: Image, examples: Mapping[str, str], notes: list[str], turns: Turns) -> Iterator[Figure]:
    """The figures of one suite as they are found; what is to be known beside them is added to `notes`."""
    if name == "latency":
        if not examples:
            notes.append("no directory of examples was given: the example set was not measured")
        yield from latency.run(image, examples, turns)
    elif name == "throughput":
        yield from throughput.run(image, turns)
    elif name == "growth":
        yield from growth.run(turns)
    elif name == "peers":
        yield from _peers(notes, turns)
    else:
        yield from cad.run(image, examples, notes, turns)


def _peers(notes: list[str], turns: Turns) -> Iterator[Figure]:
    """An empty job here and in other sandboxes, over `python3 -c pass`."""
    others, told = peers.contenders()
    notes += told
    with Host() as pooled, Host(stock=Stock(size=0)) as lone:
        jobs.empty(pooled)
        jobs.empty(lone)
        found = turns.interleaved(
            {
                "python": partial(bare.nothing, interpreter(peers.EMPTY)),
                "casemate, pool": partial(jobs.empty, pooled),
                "casemate, no pool": partial(jobs.empty, lone),
                **others,
            }
        )
    for name, series in found.items():
        if name != "python":
            yield ratio(f"empty job in {name} ÷ python3 -c pass", series, found["python"])
