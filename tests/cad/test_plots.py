"""Pictures: one for each metric that a shape has, whatever a difficulty is called."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from casemate.cad import plots
from casemate.cad.protocols import PROTOCOLS
from casemate.cad.score import Score, Scores, summed


def scores(*found: Score) -> Scores:
    return summed(PROTOCOLS["deepcad"], PROTOCOLS["deepcad"].settings(), "cad", found)


def test_each_metric_that_there_is_gets_a_picture(tmp_path: Path) -> None:
    found = [
        Score(str(number), name, "valid", chamfer=number / 10, iou=1.0)
        for number, name in enumerate(["easy", "$\\frac{1}$", "_hidden", "a\x1b[31mb", ""])
    ]
    paths = plots.draw(scores(*found, Score("x", "easy", "invalid", "policy")), tmp_path)
    assert {path.name for path in paths.values()} == {"chamfer.png", "iou.png"}
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths.values())
    assert sorted(tmp_path.iterdir()) == sorted(paths.values())


def test_without_a_valid_shape_there_is_none(tmp_path: Path) -> None:
    assert plots.draw(scores(Score("x", "", "invalid", "missing")), tmp_path) == {}


def test_the_same_scores_give_the_same_bytes(tmp_path: Path) -> None:
    pictures = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        paths = plots.draw(scores(Score("1", "", "valid", iou=0.5)), tmp_path / name)
        pictures.append(paths["iou"].read_bytes())
    assert pictures[0] == pictures[1]


@pytest.mark.parametrize("values", [(0.1, math.nextafter(0.1, 1)), (0.0, 0.0), (1e-300, 1e140), (0.1, math.inf)])
def test_no_two_values_are_too_near_or_too_far_for_a_picture(values: tuple[float, float], tmp_path: Path) -> None:
    found = [Score(str(number), "", "valid", volume_error=value) for number, value in enumerate(values)]
    assert set(plots.draw(scores(*found), tmp_path)) == {"volume_error"}
