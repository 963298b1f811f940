"""Sums up scores: ratios over all, means and quartiles over the valid, as the benchmarks publish them."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

METRICS = ("chamfer", "point_cloud", "hausdorff", "iogt", "iou", "volume_error", "box_error")


@dataclass(frozen=True, slots=True)
class Spread:
    """Of one metric, over the `count` shapes that have it; null where there are none.

    The quartiles are those of the numbers as they are (method `inclusive` of the standard library: as numpy's default).
    """

    count: int
    mean: float | None
    median: float | None
    lower_quartile: float | None
    upper_quartile: float | None

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """Of these numbers."""
        found = sorted(values)
        if not found:
            return cls(0, None, None, None, None)
        lower, middle, upper = (
            statistics.quantiles(found, n=4, method="inclusive") if len(found) > 1 else found * 3
        )  # fmt: skip
        return cls(len(found), statistics.fmean(found), middle, lower, upper)


@dataclass(frozen=True, slots=True)
class Summary:
    """Of the shapes of one difficulty, or of all.

    `validity_rate` and `invalidity_ratio` are over those with a reference that could be measured, missing ones counted
    as invalid; `unscored` are the others. `metrics` are over the valid ones only, `penalised` over all, where an
    invalid one has what the protocol gives it; a metric without such a penalty is not in it. `estimated` counts IoUs
    that no boolean gave, `without_iou` the valid ones that have none.
    """

    count: int
    valid: int
    invalid: int
    unscored: int
    validity_rate: float | None
    invalidity_ratio: float | None
    metrics: dict[str, Spread]
    penalised: dict[str, Spread]
    estimated: int
    without_iou: int
    reasons: dict[str, int]
    """How many of the invalid have which reason, the most frequent first."""


@dataclass(frozen=True, slots=True)
class Counted:
    """What a summary needs of one score; `values` holds no metric that is not there."""

    state: str
    reason: str
    values: Mapping[str, float]
    estimated: bool


def summary(scores: Sequence[Counted], penalty: Mapping[str, float]) -> Summary:
    """Sum up; `penalty` is the protocol's."""
    valid = [score for score in scores if score.state == "valid"]
    invalid = [score for score in scores if score.state == "invalid"]
    judged = len(valid) + len(invalid)
    metrics = {
        name: Spread.of(score.values[name] for score in valid if name in score.values) for name in METRICS
    }  # fmt: skip
    penalised = {
        name: Spread.of([*(s.values[name] for s in valid if name in s.values), *[penalty[name]] * len(invalid)])
        for name in METRICS if name in penalty
    }  # fmt: skip
    reasons: dict[str, int] = {}
    for score in invalid:
        reasons[score.reason] = reasons.get(score.reason, 0) + 1
    return Summary(
        count=len(scores), valid=len(valid), invalid=len(invalid), unscored=len(scores) - judged,
        validity_rate=len(valid) / judged if judged else None,
        invalidity_ratio=len(invalid) / judged if judged else None,
        metrics=metrics, penalised=penalised, estimated=sum(score.estimated for score in valid),
        without_iou=sum("iou" not in score.values for score in valid),
        reasons=dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0]))),
    )  # fmt: skip
