"""`casemate verify` and `casemate boundary` as a user runs them."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from cli.command import casemate, document

from casemate.cli import boundary as command
from casemate.control.host import PLAIN, Host, strongest
from casemate.control.profiles import load_profile
from casemate.launcher import cgroups
from casemate.launcher.steps import STEPS
from casemate.model import Enforcement, Layer
from casemate.verify import guards, harness
from casemate.verify.boundary import states


@pytest.fixture(scope="module")
def general(host: Host) -> str:
    """The strongest profile of plain programs here; its template is ready in no time."""
    return strongest(host, PLAIN)


def test_verify_all_of_it(tmp_path: Path, profile: str, whole: dict[str, Any]) -> None:
    report = tmp_path / "out.html"
    done = casemate("verify", "--profile", profile, "--report", report, "--json")
    verdicts = {"held"} if profile == "cad" else {"held", "declared-open"}
    findings = json.loads(done.stdout)["findings"]
    assert {f["id"]: f["evidence"] for f in findings if f["verdict"] not in verdicts} == {}
    found = document(done, "VerifyDocument", whole, 0)
    names = [finding["id"] for finding in found["findings"]]
    assert found["ok"] is True
    assert (found["profile"], found["runtime"]) == (profile, "native")
    assert len(names) == len(set(names)) == sum(found["counts"].values()) >= 250
    assert {name.partition(".")[0] for name in names} == {
        "proc", "environment", "files", "descriptors", "identity", "kernel", "network", "processes", "memory", "disk",
        "time", "output", "artifacts", "control", "neighbours", "tenants", "recovery",
    }  # fmt: skip
    page = report.read_text("utf-8")
    assert [name for name in names if f"<td>{name}<td" not in page] == []


def test_verify_some_of_it_in_words(general: str) -> None:
    done = casemate("verify", "--profile", general, "--only", "environment.python", "--runtime", "native")
    assert (done.returncode, done.stderr) == (0, "trying; the whole suite takes a minute or two\n")
    assert done.stdout.startswith("environment: 1 of 1 held\n")
    assert f"profile {general}: 1 held" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--only", "nonsense"), "no such probe or family: nonsense"),
        (("--runtime", "runsc"), "isolation.runtime = 'runsc'"),
        (("--profile", "no-such"), "no profile 'no-such'"),
    ],
)
def test_verify_refuses(arguments: tuple[str, ...], words: str, profile: str, whole: dict[str, Any]) -> None:
    given = arguments if "--profile" in arguments else (*arguments, "--profile", profile)
    found = document(casemate("verify", *given, "--json"), "ErrorDocument", whole, 3)
    assert words in found["message"]


def test_a_report_that_cannot_be_written_is_told_before_anything_is_tried(
    tmp_path: Path, whole: dict[str, Any]
) -> None:
    found = document(casemate("verify", "--report", tmp_path, "--json"), "ErrorDocument", whole, 2)
    assert "is a directory" in found["message"]


def _weakened(directory: Path, edits: tuple[tuple[str, str, str], ...], *arguments: str) -> tuple[int, str, str]:
    """Exit status, output and errors of the command of a package with guards taken out, behind a fence."""
    if cgroups.survey().missing:
        pytest.skip("a weakened copy runs behind a fence only")
    harness.weakened(directory, (*edits, harness.BLIND))
    argv = [sys.executable, "-m", "casemate.cli", *arguments]
    path = ":".join([str(directory), *(entry for entry in sys.path if entry)])
    bounds = harness.Bounds(memory=4 << 30)
    with harness.fence(argv, {**os.environ, "PYTHONPATH": path}, bounds) as (process, _):
        out, err = process.communicate(timeout=100)
    return process.returncode, out, err


def test_verify_ends_with_1_where_something_is_open(tmp_path: Path, general: str) -> None:
    arguments = ("verify", "--profile", general, "--only", "environment.umask", "environment.python")
    status, out, err = _weakened(tmp_path, guards.GUARDS["umask"], *arguments)
    assert status == 1, err
    assert "environment: 1 of 2 held" in out
    assert "environment.umask: open" in out


def test_boundary_knows_of_steps_that_were_taken_out(tmp_path: Path, general: str) -> None:
    taken = ("hostname", "landlock", "undumpable")
    status, out, err = _weakened(tmp_path, (guards.without(*taken),), "boundary", "--profile", general, "--json")
    assert status == 1, err
    found = json.loads(out)
    off = {
        layer["name"].rpartition(".")[2]: row["property"]
        for row in found["rows"]
        for held in row["mechanisms"]
        for layer in held["layers"]
        if not layer["on"]
    }
    # The copy is blind from outside as well, or its sandboxes would get no job.
    assert set(off) == {*taken, "outside"}
    states = {row["property"]: row["state"] for row in found["rows"]}
    assert (states["host files"], states["platform metadata"], states["control plane"]) == ("not enforced",) * 3
    assert (states["CPU"], states["disk"]) == ("enforced", "enforced")


def test_boundary(profile: str, whole: dict[str, Any]) -> None:
    found = document(casemate("boundary", "--profile", profile, "--json"), "BoundaryDocument", whole, 0)
    rows = {row["property"]: row for row in found["rows"]}
    assert len(rows) == 16
    if profile == "cad":
        assert {row["state"] for row in rows.values()} == {"enforced"}
        assert any("2,147,483,648 bytes by the cgroup" in held["what"] for held in rows["memory"]["mechanisms"])
    told = [layer for row in rows.values() for held in row["mechanisms"] for layer in held["layers"]]
    assert any(layer["name"] == "guest.uid" and layer["detail"] == "uid 1000" for layer in told)
    assert len(rows["kernel surface"]["probes"]) > 100


def test_boundary_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"{place}.{step.name}" for step in STEPS for place in step.places]
    for row in states(load_profile("cad"), Enforcement("cad", "", "", tuple(Layer(name, True) for name in names))):
        command._show(row)
    said = capsys.readouterr().out
    assert "host files: enforced\n" in said
    assert "artifacts: not enforced\n" in said
    assert "  not on: keeper.outside\n" in said
    assert said.count("  not covered: ") == 16
    assert "  the guest: no inherited descriptor\n" in said
