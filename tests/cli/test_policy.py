"""`casemate policy`: its documents, its exit statuses, and what a person reads."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

import pytest
from cli.command import BOX, document, inside

PROFILES = Path(__file__).parents[2] / "profiles"
SHIPPED = sorted(file.stem for file in PROFILES.glob("*.toml"))


def test_lint_of_what_is_shipped(whole: dict[str, Any]) -> None:
    files = [str(PROFILES / f"{name}.toml") for name in SHIPPED]
    found = document(inside("policy", "lint", *files, "--json"), "PolicyLintDocument", whole, 0)
    assert [file["name"] for file in found["files"]] == SHIPPED
    assert all(file["ok"] and not file["faults"] for file in found["files"])


def test_lint_says_file_and_line(tmp_path: Path, whole: dict[str, Any]) -> None:
    text = (PROFILES / "cad.toml").read_text("utf-8")
    lines = text.split("\n")
    memory = lines.index("memory = 2_147_483_648")
    lines[memory] = "memory = 0"
    bad = tmp_path / "bad.toml"
    bad.write_text("\n".join([*lines, "[novelty]", "x = 1"]), "utf-8")
    done = inside("policy", "lint", "cad", bad, "--json")
    good, found = document(done, "PolicyLintDocument", whole, 1)["files"]
    assert good["ok"]
    assert [(fault["row"], fault["line"]) for fault in found["faults"]] == [
        ("limits.memory", memory + 1), ("novelty", len(lines) + 1),
    ]  # fmt: skip
    done = inside("policy", "lint", "cad", bad)
    assert done.returncode == 1
    assert f"{bad}:{memory + 1}: limits.memory: " in done.stdout
    assert f"{bad}:{len(lines) + 1}: novelty: there is no such table\n" in done.stdout


@pytest.mark.parametrize("name", ["nothing", "missing.toml", "/etc/passwd"])
def test_lint_of_what_is_not_there(name: str, whole: dict[str, Any]) -> None:
    [found] = document(inside("policy", "lint", name, "--json"), "PolicyLintDocument", whole, 1)["files"]
    assert (found["file"], found["ok"]) == (name, False)
    assert "no profile" in found["faults"][0]["text"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can own a ceiling")
def test_lint_under_a_ceiling(tmp_path: Path, whole: dict[str, Any]) -> None:
    ceiling = tmp_path / "ceiling.toml"
    tmp_path.chmod(0o755)
    ceiling.write_text("[network]\negress = ['none']\n[limits]\nmemory = 1_073_741_824\n")
    done = inside("policy", "lint", "cad", "python", "--ceiling", ceiling, "--json")
    cad, python = document(done, "PolicyLintDocument", whole, 1)["files"]
    assert python["ok"]
    assert [fault["row"] for fault in cad["faults"]] == ["limits.memory"]
    assert f"({ceiling}:4)" in cad["faults"][0]["message"]
    ceiling.chmod(0o666)
    assert inside("policy", "lint", "python", "--ceiling", ceiling).returncode == 1


def test_a_ceiling_that_was_named_must_be_there(tmp_path: Path, whole: dict[str, Any]) -> None:
    done = inside("policy", "lint", "cad", "--ceiling", tmp_path / "missing.toml", "--json")
    document(done, "ErrorDocument", whole, 2)


@pytest.mark.parametrize("name", SHIPPED)
def test_show_says_every_row(name: str, whole: dict[str, Any]) -> None:
    found = document(inside("policy", "show", name, "--json"), "PolicyDocument", whole, 0)
    rows = tomllib.loads((PROFILES / f"{name}.toml").read_text("utf-8"))
    assert found["rows"] == rows
    assert (found["name"], found["version"]) == (rows["profile"]["name"], rows["profile"]["version"])


def test_show_to_a_person() -> None:
    done = inside("policy", "show", "python")
    assert done.returncode == 0
    assert 'network.egress                 "none"' in done.stdout
    assert "filesystem.exec_writable       true" in done.stdout


def test_explain(whole: dict[str, Any]) -> None:
    found = document(inside("policy", "explain", "processes", "--json"), "PolicyExplainDocument", whole, 0)
    assert (found["limit"], found["kind"]) == ("processes", "refusing")
    assert "pids.max" in found["enforced_by"]
    assert "EAGAIN" in inside("policy", "explain", "limits.processes").stdout
    document(inside("policy", "explain", "luck", "--json"), "ErrorDocument", whole, 3)


def test_diff(whole: dict[str, Any]) -> None:
    found = document(inside("policy", "diff", "cad", "cad-minimal", "--json"), "PolicyDiffDocument", whole, 0)
    rows = {row["row"]: (row["first"], row["second"], row["second_is"]) for row in found["rows"]}
    assert rows.pop("gate.rules") == ("cad", "cad-minimal", "tighter")
    assert set(rows) == {"profile.name", "profile.description"}
    assert 'gate.rules: "cad-minimal" → "cad" (looser)' in inside("policy", "diff", "cad-minimal", "cad").stdout
    assert "differ in no row" in inside("policy", "diff", "cad", "cad").stdout
    document(inside("policy", "diff", "cad", "nothing", "--json"), "ErrorDocument", whole, 3)


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("--limit", "wall_time"), 2), (("--limit", "wall_time=soon"), 2), (("--limit", "wall_time="), 2),
        (("--limit", "wall_time=1", "--limit", "wall_time=2"), 2), (("--limit", "wall_time=61"), 3),
        (("--limit", "wall_time=0"), 3), (("--limit", "wall_time=nan"), 3), (("--limit", "wall_time=inf"), 3),
        (("--limit", "memory=1.5"), 3), (("--limit", "luck=1"), 3), (("--limit", "=1"), 3),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("cold")
def test_limits_that_a_run_cannot_have(
    tmp_path: Path, profile: str, whole: dict[str, Any], arguments: tuple[str, ...], status: int
) -> None:
    (tmp_path / "box.py").write_text(BOX)
    done = inside("run", tmp_path / "box.py", "--profile", profile, *arguments, "--json")
    document(done, "ErrorDocument", whole, status)


@pytest.mark.usefixtures("lent")
def test_a_run_with_lower_limits(tmp_path: Path, profile: str, whole: dict[str, Any]) -> None:
    (tmp_path / "box.py").write_text(BOX + "print('x' * 100)\n")
    limits = ("--limit", "stdout_bytes=10", "--limit", "wall_time=59.5")
    done = inside("run", tmp_path / "box.py", "--profile", profile, *limits, "--json")
    found = document(done, "RunDocument", whole, 0)
    assert (found["stdout"]["text"], found["stdout"]["total"]) == ("x" * 10, 101)
