"""Scripts as people and models write them: every one is admitted, and says what was taken out of it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from gate.room import CAD, codes

from casemate.gate import Admitted, check

DATA = Path(__file__).parent.parent / "data" / "honest"
EXAMPLES = Path(__file__).parent.parent.parent / "examples"
SCRIPTS = sorted(DATA.glob("*.py"))


def test_there_are_enough() -> None:
    assert len(SCRIPTS) >= 70


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_admitted(path: Path) -> None:
    verdict = check(path.read_bytes(), CAD)
    assert codes(verdict) == []
    assert isinstance(verdict, Admitted)
    again = check(path.read_bytes(), CAD)
    assert isinstance(again, Admitted)
    assert ast.dump(again.tree, include_attributes=True) == ast.dump(verdict.tree, include_attributes=True)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_nodes_keep_their_places(path: Path) -> None:
    verdict = check(path.read_bytes(), CAD)
    assert isinstance(verdict, Admitted)
    lines = verdict.text.count("\n") + 1
    for node in ast.walk(verdict.tree):
        if "lineno" in node._attributes:
            assert 1 <= node.lineno <= lines  # type: ignore[attr-defined]


def test_the_examples_of_the_project_are_admitted() -> None:
    for path in sorted(EXAMPLES.glob("*.py")):
        assert codes(check(path.read_bytes(), CAD)) == [], path.name


@pytest.mark.parametrize(
    ("name", "notices"),
    [
        ("cq_heat_sink", ["export.recorded"]),
        ("cq_exporters_import", ["import.erased", "export.recorded"]),
        ("cq_multi_show", ["import.erased", "viewer.erased"]),
        ("cq_try_fillet", ["except.narrowed"]),
        ("cq_typing_aliases", ["import.erased"]),
        ("bd_drawing_export", ["viewer.erased"]),
        ("cq_plate_hole", []),
    ],
)
def test_what_was_taken_out_is_told(name: str, notices: list[str]) -> None:
    verdict = check((DATA / f"{name}.py").read_bytes(), CAD)
    assert isinstance(verdict, Admitted)
    assert list(dict.fromkeys(notice.code for notice in verdict.notices)) == notices
