"""Scripts by the thousand, as somebody has them who evaluates or trains a model: how many a second and core.

Beside two ways that people use today, a fresh `python script.py` for each and a pool of warm processes without walls,
and beside a bare loop in one process.
"""

from __future__ import annotations

import dataclasses
import os
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from casemate.bench import bare, census, jobs
from casemate.bench.measure import Figure, Series, Turns, timed
from casemate.control.host import Host
from casemate.runtime.images import Image

HANG = 5.0
"""Seconds after which each contender ends a script that hangs; the fresh process imports within them."""
FRESH = 4
"""Scripts of a turn for fresh processes, which take seconds each."""
MIXED, MIXED_ROUNDS = 100, 4
SCRIPTS, SETTLED = 10_000, 1_000
"""Over how many memory must be flat, and after how many it is first read."""
_VALID = (
    "result = cq.Workplane().box({a}, {b}, 5).edges('|Z').fillet(1).faces('>Z').workplane().hole({h})\n",
    "result = cq.Workplane().circle({a}).extrude({b}).faces('>Z').workplane().polygon(6, {h}).cutThruAll()\n",
    "result = cq.Workplane().rect({a}, {b}).extrude(4).faces('>Z').workplane().rect({a} - 4, {b} - 4, "
    "forConstruction=True).vertices().cboreHole(1.2, 2, 1)\n",
    "result = cq.Workplane().polyline([(0, 0), ({a}, 0), ({a}, 2), (2, {b}), (0, {b})]).close().extrude({h} + 8)\n",
)
_FAILING = (
    "import os\n",  # denied
    "result = cq.Workplane(\n",  # no Python
    "result = cq.Workplane().box(width, 2, 3)\n",  # a name that is nowhere
    "result = cq.Workplane().box({a}, {b}, 5).edges().fillet(50)\n",  # what the kernel refuses
    "result = cq.Workplane().box({a}, {b}, 5).bevel(1)\n",  # an invented method
    "print('done')\n",  # no part
    "result = cq.Workplane().rect({a}, {b})\n",  # nothing solid
    "raise ValueError('{a}')\n",
    "x = 1 / ({h} - {h})\n",
)
_HANGING = "while True:\n    pass\n"


def run(image: Image, examples: Mapping[str, str], notes: list[str], turns: Turns) -> Iterator[Figure]:
    """Every figure of this suite."""
    cores = len(os.sched_getaffinity(0))
    with Host() as host, bare.workers("in-process", image, cores) as pool, bare.workers("in-process", image, 1) as loop:
        host.warm("cad")
        host.warm("cad-fast")
        if examples:
            yield from _set("the example set", list(examples.values()) * 2, host, image, pool, loop, cores, turns)
        else:
            notes.append("no directory of examples was given: the example set was not measured")
        yield from _mix(host, image, pool, cores, turns)
        yield _memory(host, cores, turns)


def mix(count: int, seed: int = 5) -> list[str]:
    """Scripts as a model writes them: nine of ten make a part, one of a hundred hangs, the others fail as they do."""
    draw = random.Random(seed)
    hanging = max(1, count // 100)
    failing = count // 10 - hanging
    kinds = [_HANGING] * hanging + [_FAILING[number % len(_FAILING)] for number in range(failing)]
    kinds += [_VALID[number % len(_VALID)] for number in range(count - len(kinds))]
    draw.shuffle(kinds)
    sizes = [{"a": draw.randint(10, 40), "b": draw.randint(10, 40), "h": draw.randint(2, 6)} for _ in kinds]
    return ["import cadquery as cq\n" + kind.format(**size) for kind, size in zip(kinds, sizes, strict=True)]


def _set(
    what: str, scripts: Sequence[str], host: Host, image: Image, pool: bare.Workers, loop: bare.Workers, cores: int,
    turns: Turns,
) -> Iterator[Figure]:  # fmt: skip
    few = scripts[:FRESH]
    found = turns.interleaved(
        {
            "cad": partial(_rate, partial(jobs.batch, host, "cad", scripts, cores), len(scripts)),
            "fast": partial(_rate, partial(jobs.batch, host, "cad-fast", scripts, cores), len(scripts)),
            "pool": partial(_rate, partial(pool.run, scripts, cores), len(scripts)),
            "loop": partial(_rate, partial(loop.run, scripts, 1), len(scripts)),
            "fresh": partial(_rate, partial(bare.fresh, image, few, cores), len(few)),
        }
    )
    yield from _figures(what, found, cores)
    for name, profile in (("cad", "cad"), ("fast", "cad-fast")):
        yield _over(f"{what}, {profile}, a core ÷ a bare loop in one process", found[name], found["loop"], cores)


def _mix(host: Host, image: Image, pool: bare.Workers, cores: int, turns: Turns) -> Iterator[Figure]:
    scripts = mix(MIXED)
    few = dataclasses.replace(turns, rounds=min(turns.rounds, MIXED_ROUNDS), warmup=min(turns.warmup, 1))
    found = few.interleaved(
        {
            "cad": partial(_rate, partial(_mapped, host, "cad", scripts, cores), len(scripts)),
            "fast": partial(_rate, partial(_mapped, host, "cad-fast", scripts, cores), len(scripts)),
            "pool": partial(_rate, partial(pool.tried, scripts, cores, HANG), len(scripts)),
            "fresh": partial(_rate, partial(bare.fresh_tried, image, scripts, cores, HANG), len(scripts)),
        }
    )
    yield from _figures(f"{MIXED} mixed scripts", found, cores)


def _mapped(host: Host, profile: str, scripts: Sequence[str], at_once: int) -> None:
    for _ in host.map_completed(scripts, profile, jobs=at_once, limits={"wall_time": HANG}):
        pass


def _figures(what: str, found: Mapping[str, Series], cores: int) -> Iterator[Figure]:
    for name, profile, warm, fresh in (("cad", "cad", 0.33, 15.0), ("fast", "cad-fast", 0.55, 25.0)):
        series = found[name]
        yield Figure(f"{what}, {profile}: scripts a second and core", series.median / cores, "/s", better="higher")
        yield _over(f"{what}, {profile} ÷ a warm pool without walls", series, found["pool"], 1, warm)
        yield _over(f"{what}, {profile} ÷ fresh processes", series, found["fresh"], 1, fresh)


def _over(name: str, ours: Series, theirs: Series, cores: int, aim: float | None = None) -> Figure:
    detail = f"{ours.median:.2f} /s ÷ {theirs.median:.2f} /s"
    return Figure(name, ours.median / cores / theirs.median, "ratio", aim, "higher", detail)


def _rate(work: Callable[[], object], scripts: int) -> float:
    return scripts / timed(work)


def _memory(host: Host, cores: int, turns: Turns) -> Figure:
    """Of this process and of the keeper, between SETTLED and SCRIPTS distinct scripts."""
    assert host.keeper_pid is not None
    keeper = host.keeper_pid
    used: list[float] = []
    scripts = ("import cadquery as cq\n" + _VALID[0].format(a=12, b=10, h=2) + f"# {n}\n" for n in range(SCRIPTS))
    for number, _ in enumerate(host.map(scripts, "cad-fast", jobs=cores), 1):
        if number in (SETTLED, SCRIPTS):
            used.append(sum(census.resident(pid) for pid in (os.getpid(), keeper)) / (1 << 20))
        if number % 100 == 0:
            turns.tick()
    detail = f"resident memory of caller and keeper after {SETTLED}: {used[0]:.1f} MiB, after {SCRIPTS}: {used[1]:.1f}"
    return Figure(f"growth over {SCRIPTS} scripts", used[1] - used[0], "MiB", 4.0, detail=detail)
