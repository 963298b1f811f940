"""Interleaved measurement: contenders take turns within each round, so that a noisy minute hurts all of them alike."""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass

ROUNDS, WARMUP = 20, 3
SHIFTS = 4
"""How often settings that cannot be there at the same time follow one another."""
SETTLE = 0.4
"""Seconds before each turn: what the one before began in the background must not run in the next one's time."""


@dataclass(frozen=True, slots=True)
class Series:
    """Samples of one contender, in the order in which they were taken: seconds, or what `unit` says."""

    name: str
    samples: tuple[float, ...]
    unit: str = "s"

    @property
    def median(self) -> float:
        """The middle one."""
        return statistics.median(self.samples)

    def percentile(self, share: float) -> float:
        """The smallest sample that `share` of all do not exceed (nearest rank)."""
        ordered = sorted(self.samples)
        return ordered[max(0, -(-round(share * 10_000) * len(ordered) // 10_000) - 1)]

    @property
    def p99(self) -> float:
        """With fewer than 100 samples this is the largest."""
        return self.percentile(0.99)


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the report: a ratio, or a plain quantity, beside what we aim at (None: nothing is aimed at)."""

    name: str
    value: float
    unit: str = "ratio"
    aim: float | None = None
    better: str = "lower"
    """`lower`: the aim is an upper bound; `higher`: a lower one."""
    detail: str = ""

    @property
    def reached(self) -> bool | None:
        """Whether the aim is; None without one."""
        if self.aim is None:
            return None
        return self.value <= self.aim if self.better == "lower" else self.value >= self.aim


def timed(work: Callable[[], object]) -> float:
    """Seconds that one call takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


@dataclass(frozen=True, slots=True)
class Turns:
    """How often contenders are timed; `tick` is called after each turn."""

    rounds: int = ROUNDS
    warmup: int = WARMUP
    tick: Callable[[], None] = lambda: None

    def alternated(
        self, settings: Mapping[str, Callable[[], AbstractContextManager[Callable[[], object]]]]
    ) -> dict[str, Series]:
        """Time what each setting gives while it lasts and nothing of the others is there: SHIFTS of each, by turns.

        The rounds are spread over the shifts; each begins with the warm-up.
        """
        samples: dict[str, list[float]] = {name: [] for name in settings}
        rounds = -(-self.rounds // SHIFTS)
        for number in range(SHIFTS):
            for name in list(settings)[:: -1 if number % 2 else 1]:
                with settings[name]() as work:
                    samples[name] += dataclasses.replace(self, rounds=rounds).interleaved({name: work})[name].samples
        return {name: Series(name, tuple(values)) for name, values in samples.items()}

    def interleaved(
        self, contenders: Mapping[str, Callable[[], object]], *, warmup: int | None = None, pause: float = SETTLE
    ) -> dict[str, Series]:
        """Time every contender once a round, in an order that turns, with `pause` seconds before each turn.

        A contender may have timed itself: it gives a float, several as a list, or a dict from a name to either, which
        makes series `contender.name`. Else the call's own time counts. The rounds of the warm-up are thrown away.
        """
        names = list(contenders)
        samples: dict[str, list[float]] = {}
        thrown = min(self.warmup, self.rounds) if warmup is None else warmup
        for number in range(thrown + self.rounds):
            turned = names[number % len(names) :] + names[: number % len(names)]
            for name in turned:
                time.sleep(pause)
                began = time.perf_counter()
                told = contenders[name]()
                took = time.perf_counter() - began
                if number >= thrown:
                    for key, values in _named(name, took if told is None else told):
                        samples.setdefault(key, []).extend(values)
                self.tick()
        ordered = sorted(samples, key=lambda key: names.index(key if key in contenders else key.rpartition(".")[0]))
        return {name: Series(name, tuple(samples[name])) for name in ordered if samples[name]}


def _named(name: str, told: object) -> Iterable[tuple[str, list[float]]]:
    if isinstance(told, dict):
        for key, value in told.items():
            yield from _named(f"{name}.{key}", value)
    elif isinstance(told, (list, tuple)):
        yield name, [float(value) for value in told]
    else:
        assert isinstance(told, float)
        yield name, [told]


def ratio(
    name: str, above: Series, below: Series, aim: float | None = None, *, better: str = "lower", detail: str = ""
) -> Figure:
    """Median over median."""
    told = f"{_shown(above)} ÷ {_shown(below)}"
    return Figure(name, above.median / below.median, "ratio", aim, better, f"{told}; {detail}" if detail else told)


def tail(name: str, series: Series, aim: float | None = None) -> Figure:
    """p99 over the median."""
    detail = f"{series.p99 * 1000:.1f} ms ÷ {series.median * 1000:.1f} ms, {len(series.samples)} samples"
    return Figure(name, series.p99 / series.median, "ratio", aim, detail=detail)


def _shown(series: Series) -> str:
    if series.unit != "s":
        return f"{series.median:.2f} {series.unit}"
    return f"{series.median * 1000:.1f} ms (p99 {series.p99 * 1000:.1f})"
