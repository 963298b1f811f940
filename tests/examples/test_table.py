"""Every example has its hand-computed row, and passes the gate with nothing to remark."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from casemate.gate import Admitted, check, rules_named

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
EXPECTED = tomllib.loads(Path(__file__).with_name("expected.toml").read_text("utf-8"))


def test_examples_and_rows_match() -> None:
    assert sorted(EXPECTED) == [path.stem for path in EXAMPLES]
    assert len(EXAMPLES) >= 8
    for row in EXPECTED.values():
        assert len(row["bounding_box"]) == 6
        assert len({"volumes", "solids", "volume_between"} & row.keys()) == 1


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_gate_admits_it_as_it_is(path: Path) -> None:
    verdict = check(path.read_bytes(), rules_named("cad"))
    assert isinstance(verdict, Admitted), verdict
    assert verdict.notices == ()
