"""`casemate verify` and `casemate boundary` as a user runs them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from cli.command import casemate, document

from casemate.launcher import cgroups
from casemate.verify import guards, harness


def test_verify_some_of_it(tmp_path: Path, profile: str, whole: dict[str, Any]) -> None:
    report = tmp_path / "out.html"
    done = casemate(
        "verify", "--profile", profile, "--only", "environment", "proc.boot-id", "--report", report, "--json"
    )
    found = document(done, "VerifyDocument", whole, 0)
    assert found["ok"] is True
    assert found["profile"] == profile
    names = [finding["id"] for finding in found["findings"]]
    assert "proc.boot-id" in names
    assert {name.partition(".")[0] for name in names} == {"environment", "proc"}
    assert len(names) == 11
    assert found["counts"] == {"held": 11, "open": 0, "inconclusive": 0, "declared-open": 0}
    page = report.read_text("utf-8")
    assert all(f"<td>{name}<td" in page for name in names)


def test_verify_says_what_it_found_in_words(profile: str) -> None:
    done = casemate("verify", "--profile", profile, "--only", "environment.python", "--runtime", "native")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("environment: 1 of 1 held\n")
    assert f"profile {profile}: 1 held" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--only", "nonsense"), "no such probe or family: nonsense"),
        (("--runtime", "runsc"), "to be verified under 'runsc'"),
        (("--profile", "no-such"), "no profile named"),
    ],
)
def test_verify_refuses(arguments: tuple[str, ...], words: str, profile: str, whole: dict[str, Any]) -> None:
    given = arguments if "--profile" in arguments else (*arguments, "--profile", profile)
    found = document(casemate("verify", *given, "--json"), "ErrorDocument", whole, 3)
    assert words in found["message"]


def test_verify_ends_with_1_where_something_is_open(tmp_path: Path, profile: str) -> None:
    if cgroups.survey().missing:
        pytest.skip("a weakened copy runs behind a fence only")
    harness.weakened(tmp_path, (*guards.GUARDS["umask"], harness.BLIND))
    argv = [sys.executable, "-m", "casemate.cli", "verify", "--profile", profile]
    argv += ["--only", "environment.umask", "environment.python"]
    path = ":".join([str(tmp_path), *(entry for entry in sys.path if entry)])
    bounds = harness.Bounds(memory=4 << 30)
    with harness.fence(argv, {**os.environ, "PYTHONPATH": path}, bounds) as (process, _):
        out, err = process.communicate(timeout=100)
    assert process.returncode == 1, err
    assert "environment: 1 of 2 held" in out
    assert "environment.umask: open" in out


def test_boundary(profile: str, whole: dict[str, Any]) -> None:
    found = document(casemate("boundary", "--profile", profile, "--json"), "BoundaryDocument", whole, 0)
    rows = {row["property"]: row for row in found["rows"]}
    assert len(rows) == 16
    if profile == "cad":
        assert {row["state"] for row in rows.values()} <= {"enforced", "degraded"}
        assert rows["memory"]["state"] == "enforced"
        assert any("2,147,483,648 bytes by the cgroup" in text for text in rows["memory"]["mechanisms"])
    assert rows["kernel surface"]["probes"]["kernel"] > 100


def test_boundary_in_words(profile: str) -> None:
    done = casemate("boundary", "--profile", profile)
    assert (done.returncode, done.stderr) == (0, "")
    assert "host files: enforced\n" in done.stdout
    assert "not covered: " in done.stdout
