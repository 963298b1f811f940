"""Interleaved measurement: contenders take turns within each round, so that a noisy minute hurts all of them alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

ROUNDS, WARMUP = 20, 3


@dataclass(frozen=True, slots=True)
class Series:
    """Samples of one contender, in seconds (or what `unit` says), in the order in which they were taken."""

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
        return ordered[max(0, -(-int(share * 100) * len(ordered) // 100) - 1)]

    @property
    def p99(self) -> float:
        """With fewer than 100 samples this is the largest."""
        return self.percentile(0.99)


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the report: a ratio, or a plain quantity, beside what we aim at (None: nothing is aimed at)."""

    name: str
    value: float
    unit: str
    """`ratio` for one series over another, else the unit of `value`."""
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


def interleaved(
    contenders: Mapping[str, Callable[[], object]], *, rounds: int = ROUNDS, warmup: int = WARMUP,
    pause: float = 0.0, tick: Callable[[], None] = lambda: None,
) -> dict[str, Series]:  # fmt: skip
    """Time every contender once a round, in an order that turns, with `pause` seconds before each call.

    A contender that returns a float has timed itself and that counts; else the call's own time does. The first
    `warmup` rounds are thrown away. `tick` is called after each call.
    """
    names = list(contenders)
    samples: dict[str, list[float]] = {name: [] for name in names}
    for number in range(warmup + rounds):
        turned = names[number % len(names) :] + names[: number % len(names)]
        for name in turned:
            if pause:
                time.sleep(pause)
            began = time.perf_counter()
            told = contenders[name]()
            took = told if isinstance(told, float) else time.perf_counter() - began
            if number >= warmup:
                samples[name].append(took)
            tick()
    return {name: Series(name, tuple(found)) for name, found in samples.items()}


def ratio(
    name: str, above: Series, below: Series, aim: float | None = None, *, better: str = "lower", detail: str = ""
) -> Figure:
    """Median over median."""
    told = f"{above.median * 1000:.1f} ms ÷ {below.median * 1000:.1f} ms, p99 {above.p99 * 1000:.1f} ms"
    return Figure(name, above.median / below.median, "ratio", aim, better, f"{told}; {detail}" if detail else told)
