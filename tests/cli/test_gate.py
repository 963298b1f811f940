"""`casemate gate update`: shown, checked, and written into a checkout."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cli.command import casemate, document, inside

from casemate.cli import gate

TOP = Path(__file__).parents[2]
TABLES = Path("src/casemate/gate/tables")


def entries(folder: Path) -> dict[str, dict[str, str]]:
    """Table → name → reason, of the tables that are made."""
    found: dict[str, dict[str, str]] = {}
    for path in (*folder.glob("module_*.py"), folder / "attributes.py", folder / "denied_reached.py"):
        for node in ast.parse(path.read_bytes()).body:
            if isinstance(node, (ast.Assign, ast.AnnAssign)):
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                assert node.value is not None
                found[ast.unparse(target)] = ast.literal_eval(node.value)
    return found


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout of the project, with tables of another version of the libraries."""
    shutil.copytree(TOP / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(TOP / "pyproject.toml", tmp_path)
    (tmp_path / ".git").mkdir()
    path = tmp_path / TABLES / "attributes.py"
    lines = [line for line in path.read_text("utf-8").splitlines() if not line.startswith('    "cskHole": ')]
    at = next(number for number, line in enumerate(lines) if line.startswith('    "cut": '))
    path.write_text("\n".join([*lines[:at], '    "cutHalf": "cadquery.Workplane",', *lines[at:], ""]), "utf-8")
    return tmp_path


def at(top: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command of that checkout."""
    return subprocess.run(
        [sys.executable, "-m", "casemate.cli", *arguments], capture_output=True, text=True, timeout=110,
        env={**os.environ, "PYTHONPATH": str(top / "src"), "PYTHONDONTWRITEBYTECODE": "1"}, cwd=top,
    )  # fmt: skip


def test_today_s_tables_pass_the_check(whole: dict[str, Any]) -> None:
    found = document(casemate("gate", "update", "--check", "--json"), "GateUpdateDocument", whole, 0)
    assert found["equal"]
    assert not any(table["added"] or table["removed"] for table in found["tables"])
    assert (found["reached"], found["written"]) == ({}, [])
    assert found["denied"]["exporters"] == "a module of file writers that re-exports os"
    assert found["left_out"]["corrcoef"].startswith("numpy: ")
    assert found["walk"]["objects"] > 10_000
    assert set(found["versions"]) == {"python", "cadquery", "build123d", "cadquery-ocp-novtk", "numpy", "anytree"}
    assert len(found["digest"]) == 64


@pytest.mark.long
def test_other_tables_do_not_and_are_replaced(checkout: Path, whole: dict[str, Any]) -> None:
    before = entries(checkout / TABLES)
    found = document(at(checkout, "gate", "update", "--check", "--json"), "GateUpdateDocument", whole, 1)
    (table,) = (table for table in found["tables"] if table["added"] or table["removed"])
    assert table["table"] == "attributes"
    assert table["added"] == {"cskHole": "cadquery.Workplane"}
    assert table["removed"] == {"cutHalf": "the image has no such name"}
    assert entries(checkout / TABLES) == before
    done = at(checkout, "gate", "update", "--write")
    assert done.returncode == 0, done.stderr
    assert "+ cskHole: cadquery.Workplane" in done.stdout
    assert "- cutHalf: the image has no such name" in done.stdout
    made, today = entries(checkout / TABLES), entries(TOP / TABLES)
    assert {name: set(table) for name, table in made.items()} == {name: set(table) for name, table in today.items()}
    assert made["ALLOWED"].keys() ^ before["ALLOWED"].keys() == {"cskHole", "cutHalf"}
    assert not list((checkout / TABLES).glob(".*"))


def test_an_installed_package_is_not_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cold: None, whole: dict[str, Any]
) -> None:
    monkeypatch.setattr(gate, "PACKAGE", tmp_path / "site-packages" / "casemate")
    found = document(inside("gate", "update", "--write", "--json"), "ErrorDocument", whole, 3)
    assert "not a checkout" in found["message"]


def test_an_image_that_is_not_there_is_said(cold: None, whole: dict[str, Any]) -> None:
    found = document(inside("gate", "update", "--image", "none", "--json"), "ErrorDocument", whole, 4)
    assert "there is no image 'none'" in found["message"]


def test_to_check_and_to_write_are_two_things() -> None:
    assert inside("gate", "update", "--check", "--write").returncode == 2
    assert inside("gate").returncode == 2
