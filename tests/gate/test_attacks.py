"""Every attack and hazard that is kept: denied by the code that names it, or listed as harmless with its reason."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from gate.expected import ADMITTED, DENIED
from gate.room import CAD, MINIMAL, codes

from casemate.gate import Admitted, Denied, check

DATA = Path(__file__).parent.parent / "data"


def kept() -> dict[str, Path]:
    """All files by the name that the table uses."""
    found = {
        path.relative_to(DATA / "attacks").as_posix(): path
        for family in ("escapes", "cad", "gate", "guard", "lang", "result")
        for path in (DATA / "attacks" / family).glob("*.py")
    }
    return found | {path.relative_to(DATA).as_posix(): path for path in (DATA / "hazards").glob("*.py")}


FILES = kept()


def test_every_file_has_an_expectation() -> None:
    assert set(FILES) == set(DENIED) | set(ADMITTED)
    assert not set(DENIED) & set(ADMITTED)
    assert len(FILES) >= 150


@pytest.mark.parametrize("name", sorted(DENIED))
def test_denied(name: str) -> None:
    verdict = check(FILES[name].read_bytes(), CAD)
    assert DENIED[name] in codes(verdict)
    assert isinstance(verdict, Denied)
    places = [(denial.line, denial.column) for denial in verdict.denials]
    assert places == sorted(places)
    assert all(denial.message for denial in verdict.denials)


@pytest.mark.parametrize("name", sorted(ADMITTED))
def test_harmless(name: str) -> None:
    assert codes(check(FILES[name].read_bytes(), CAD)) == []


@pytest.mark.parametrize("name", sorted(DENIED))
def test_denied_by_the_minimal_tables_too(name: str) -> None:
    assert isinstance(check(FILES[name].read_bytes(), MINIMAL), Denied)


@pytest.mark.parametrize("name", sorted(name for name, reason in ADMITTED.items() if "export" in reason))
def test_an_export_is_gone_from_the_tree(name: str) -> None:
    verdict = check(FILES[name].read_bytes(), CAD)
    assert isinstance(verdict, Admitted)
    assert "export.recorded" in {notice.code for notice in verdict.notices}
    dumped = ast.dump(verdict.tree)
    assert "/var/tmp" not in dumped
    assert "/tmp/a.step" not in dumped
