"""Scores summed up, against numbers computed by hand."""

from __future__ import annotations

import pytest

from casemate import Denied
from casemate.cad.protocols import PROTOCOLS, protocol
from casemate.cad.score import Score, Scores, summed
from casemate.cad.summaries import Spread


def valid(name: str, iou: float | None, difficulty: str = "") -> Score:
    return Score(name, difficulty, "valid", chamfer=0.5, iou=iou, iou_method=None if iou is None else "sampled")


def of(scores: list[Score], name: str = "cad-recode") -> Scores:
    chosen = PROTOCOLS[name]
    return summed(chosen, chosen.settings(), "cad", scores)


def test_quartiles_of_four_numbers() -> None:
    assert Spread.of([4.0, 1.0, 3.0, 2.0]) == Spread(4, 2.5, 2.5, 1.75, 3.25)
    assert Spread.of([7.0]) == Spread(1, 7.0, 7.0, 7.0, 7.0)
    assert Spread.of([]) == Spread(0, None, None, None, None)


def test_means_are_over_the_valid_and_the_ratio_over_all_that_have_a_reference() -> None:
    scores = [valid("a", 1.0), valid("b", 0.5), valid("c", None), Score("d", "", "invalid", "missing"),
              Score("e", "", "invalid", "policy"), Score("f", "", "invalid", "missing"),
              Score("g", "", "unscored", "reference")]  # fmt: skip
    found = of(scores).overall
    assert (found.count, found.valid, found.invalid, found.unscored) == (7, 3, 3, 1)
    assert (found.validity_rate, found.invalidity_ratio) == (0.5, 0.5)
    assert found.metrics["iou"] == Spread(2, 0.75, 0.75, 0.625, 0.875)
    assert (found.estimated, found.without_iou) == (2, 1)
    assert found.reasons == {"missing": 2, "policy": 1}
    assert found.penalised == {}


def test_difficulties_have_summaries_of_their_own() -> None:
    found = of([valid("a", 1.0, "hard"), valid("b", 0.0, "easy"), valid("c", 0.5)])
    assert list(found.by_difficulty) == ["easy", "hard", ""]
    assert [one.metrics["iou"].mean for one in found.by_difficulty.values()] == [0.0, 1.0, 0.5]
    assert of([valid("a", 1.0)]).by_difficulty == {}


def test_cadprompt_gives_what_did_not_compile_the_worst() -> None:
    found = of([Score("a", "", "valid", hausdorff=0.0, iogt=1.0), Score("b", "", "invalid", "policy")], "cadprompt")
    assert found.overall.metrics["hausdorff"].mean == 0
    assert found.overall.penalised["hausdorff"].mean == pytest.approx(3**0.5 / 2)
    assert found.overall.penalised["iogt"].mean == 0.5
    assert "iou" not in found.overall.penalised


def test_nothing_is_a_ratio_of_nothing() -> None:
    assert of([]).overall.invalidity_ratio is None


def test_names_that_nobody_defined_are_denied() -> None:
    with pytest.raises(Denied, match="cad-recode"):
        protocol("text2cad")
    with pytest.raises(Denied, match="unit-cube"):
        protocol("deepcad").settings(normalise="unit-sphere")
    with pytest.raises(Denied, match="principal-axes"):
        protocol("deepcad").settings(align="by-eye")
    with pytest.raises(Denied, match="points"):
        protocol("deepcad").settings(points=10**9)
