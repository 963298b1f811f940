"""How long one job takes, beside the same code without walls: with ready sandboxes and without, dense and sparse."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from casemate.bench import bare, jobs
from casemate.bench.commands import interpreter
from casemate.bench.measure import Figure, Turns, ratio, tail
from casemate.bench.peers import EMPTY
from casemate.control.host import Host, Stock
from casemate.runtime.images import Image

BURST = 3
"""Dense jobs of one turn: the first finds a full stock, the others what is left of it."""
SPARSE = 0.3
"""Seconds before each sparse job."""
VERDICT_MS = 50.0


def run(image: Image, examples: Mapping[str, str], turns: Turns) -> Iterator[Figure]:
    """Every figure of this suite."""
    python = interpreter(EMPTY)
    with Host() as pooled, Host(stock=Stock(size=0)) as lone, bare.worker("in-process", image) as plain:
        pooled.warm("cad")
        lone.warm("cad")
        found = turns.interleaved(
            {
                "python": partial(bare.nothing, python),
                "empty pool": partial(jobs.empty, pooled, BURST),
                "empty lone": partial(jobs.empty, lone, BURST),
            }
        )
        yield ratio("empty job, pool ÷ python3 -c pass", found["empty pool"], found["python"], 0.10)
        yield ratio("empty job, no pool ÷ python3 -c pass", found["empty lone"], found["python"], 0.45)
        yield tail("empty job, pool: p99 ÷ p50", found["empty pool"], 1.25)

        found = turns.interleaved(
            {
                "bare": lambda: [plain.run(jobs.REFERENCE) for _ in range(BURST)],
                "pool": partial(jobs.reference, pooled, "cad", BURST),
                "lone": partial(jobs.reference, lone, "cad", BURST),
                "fast": partial(jobs.reference, pooled, "cad-fast", BURST),
            }
        )
        base = found["bare"]
        yield ratio("reference, script stage, pool ÷ bare", found["pool.script"], base, 1.10)
        yield ratio("reference, script stage, no pool ÷ bare", found["lone.script"], base, 1.5)
        yield ratio("reference, both stages, pool ÷ bare", found["pool.total"], base, 1.6)
        yield ratio("reference, both stages, no pool ÷ bare", found["lone.total"], base, 2.6)
        yield ratio("reference, cad-fast, pool ÷ bare", found["fast.total"], base)
        yield tail("reference, both stages, pool: p99 ÷ p50", found["pool.total"], 1.25)
        teardown = found["pool.teardown"]
        detail = f"median {teardown.median * 1000:.1f} ms, {len(teardown.samples)} samples"
        yield Figure("verdict to empty cgroup, p99", teardown.p99 * 1000, "ms", VERDICT_MS, detail=detail)

        sparse = turns.interleaved(
            {
                "bare": partial(plain.run, jobs.REFERENCE),
                "pool": partial(jobs.reference, pooled, "cad"),
                "empty": partial(jobs.empty, pooled),
            },
            pause=SPARSE,
        )
        yield ratio("reference, script stage, sparse ÷ dense", sparse["pool.script"], found["pool.script"], 1.1)
        yield ratio("reference, both stages, sparse ÷ dense", sparse["pool.total"], found["pool.total"], 1.1)
        yield ratio("reference, bare, sparse ÷ dense", sparse["bare"], base)
        yield from _examples(pooled, plain, examples, turns)
    yield _cold(image, turns)


def _examples(host: Host, plain: bare.Worker, examples: Mapping[str, str], turns: Turns) -> Iterator[Figure]:
    if not examples:
        return
    sources = list(examples.values())
    found = turns.interleaved(
        {
            "bare": lambda: sum(plain.run(source) for source in sources),
            "ours": lambda: sum(jobs.reference(host, "cad", 1, source)["total"][0] for source in sources),
        },
        warmup=1,
    )
    yield ratio(f"the {len(sources)} examples, both stages ÷ bare", found["ours"], found["bare"])


def _cold(image: Image, turns: Turns) -> Figure:
    def first() -> float:
        began = time.perf_counter()
        with Host() as host:
            jobs.reference(host, "cad")
            return time.perf_counter() - began

    found = turns.interleaved({"first": first, "import": partial(bare.importing, image)}, warmup=1)
    return ratio("first job of a cold host, to its end ÷ import cadquery", found["first"], found["import"])


def examples_in(directory: Path) -> dict[str, str]:
    """The scripts of a directory by name; none if it is not there."""
    return {path.name: path.read_text("utf-8") for path in sorted(directory.glob("*.py"))}
