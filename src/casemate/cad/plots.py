"""Pictures of how scores are distributed: one PNG for each metric, by difficulty where there are any.

matplotlib is an extra of the package (`casemate[plots]`), imported when pictures are asked for.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from casemate.cad.score import Scores
from casemate.cad.summaries import METRICS
from casemate.errors import Denied

_LABELS = {
    "chamfer": "Chamfer distance, squared", "point_cloud": "point cloud distance", "hausdorff": "Hausdorff distance",
    "iogt": "IoGT", "iou": "IoU", "volume_error": "relative error of the volume",
    "box_error": "largest relative error of a side of the box",
}  # fmt: skip
_SHARES = ("iogt", "iou")
_BINS, _MOST = 40, 1e150
"""Bars of a picture; a value beyond this is in none."""


def require() -> None:
    """Raise Denied, with the remedy, without matplotlib."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise Denied("pictures need matplotlib: pip install 'casemate[plots]'") from None


def draw(scores: Scores, directory: Path) -> dict[str, Path]:
    """Write METRIC.png for every metric that a shape has, into a directory that is there; the paths by metric."""
    require()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    groups = list(scores.by_difficulty) or [""]
    paths = {}
    for metric in METRICS:
        values = [
            [value for one in scores.scores if _drawn(value := getattr(one, metric)) and _in(one, group, groups)]
            for group in groups
        ]
        if not any(values):
            continue
        figure = Figure(figsize=(7, 4), layout="constrained")
        FigureCanvasAgg(figure)
        _histogram(figure.subplots(), metric, values, [_label(scores, group) for group in groups])
        figure.suptitle(f"{scores.protocol}, {scores.settings.points} points, seed {scores.settings.seed}", fontsize=9)
        paths[metric] = directory / f"{metric}.png"
        figure.savefig(paths[metric], dpi=120, metadata={"Software": "casemate"})
    return paths


def _drawn(value: float | None) -> bool:
    return value is not None and abs(value) <= _MOST


def _histogram(axes: Any, metric: str, values: list[list[float]], labels: list[str]) -> None:
    limits = (0.0, 1.0) if metric in _SHARES else _limits([value for group in values for value in group])
    axes.hist(values, bins=_BINS, range=limits, stacked=True, label=labels)
    axes.set_xlabel(_LABELS[metric])
    axes.set_ylabel("shapes")
    legend = axes.legend(fontsize=8)
    for text in legend.get_texts():
        text.set_parse_math(False)  # a difficulty is the caller's text, and a $ of it no formula


def _limits(values: list[float]) -> tuple[float, float]:
    """Wide enough for bins that floating point can tell apart."""
    low, high = min(values), max(values)
    least = 1e-6 * max(abs(low), abs(high)) or 1.0
    return (low, high) if high - low > least else (low - least, high + least)


def _in(one: Any, group: str, groups: list[str]) -> bool:
    return groups == [""] or one.difficulty == group


def _label(scores: Scores, group: str) -> str:
    found = scores.by_difficulty.get(group, scores.overall)
    name = group or ("no difficulty" if scores.by_difficulty else "all")
    shown = "".join(character if character.isprintable() else "?" for character in name)
    # First the numbers: a label that begins with an underscore would be left out of the legend.
    return f"{found.valid} valid of {found.valid + found.invalid}: {shown}"
