"""Scripts through the whole path, both sandboxes, against tables that were computed by hand."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from harness import DATA

from casemate import Deadline, Host, Limit, Reason, RunResult, Verdict

EXAMPLES = Path(__file__).parents[2] / "examples"


def table(path: Path) -> dict[str, dict[str, Any]]:
    """Rows by script name."""
    return tomllib.loads(path.read_text("utf-8"))


RESULTS = table(DATA / "results" / "expected.toml")
ERRORS = table(DATA / "errors" / "expected.toml")
PROFILES = Path(__file__).parents[2] / "profiles"
SHOWN = table(Path(__file__).parents[1] / "examples" / "expected.toml")


def volumes(result: RunResult) -> list[float]:
    """Of the measured parts, in order."""
    return [part.facts.volume for part in result.parts if part.facts]


@pytest.mark.parametrize("name", sorted(SHOWN))
def test_examples_measure_what_was_computed_by_hand(name: str, host: Host, profile: str) -> None:
    result = host.run((EXAMPLES / f"{name}.py").read_bytes(), profile)
    row = SHOWN[name]
    assert result.ok, result.outcome
    if "volumes" in row:
        assert volumes(result) == pytest.approx(row["volumes"], abs=2e-3)
    if "volume_between" in row:
        low, high = row["volume_between"]
        assert low < sum(volumes(result)) < high
    boxes = [part.facts.bounding_box for part in result.parts if part.facts]
    whole = [min(b[i] for b in boxes) if i < 3 else max(b[i] for b in boxes) for i in range(6)]
    assert whole == pytest.approx(row["bounding_box"], abs=1e-3)
    for name_, volume in row.get("solids", {}).items():
        assert f"'{name_}'".encode() in result.artifacts["part.step"].data
        assert volume > 0
    if "solids" in row:
        assert sum(volumes(result)) == pytest.approx(sum(row["solids"].values()), abs=2e-3)


@pytest.mark.parametrize("name", sorted(RESULTS))
def test_the_part_is_found(name: str, host: Host, profile: str) -> None:
    result = host.run((DATA / "results" / f"{name}.py").read_bytes(), profile)
    row = RESULTS[name]
    assert result.outcome.reason is Reason.EXITED, result.outcome
    assert result.outcome.verdict == row.get("verdict", "part"), result.outcome
    if "message" in row:
        assert row["message"] in result.outcome.message
    if "volumes" in row:
        assert volumes(result) == pytest.approx(row["volumes"], abs=1e-3)
    if "names" in row:
        assert [part.name for part in result.parts] == row["names"]
    if "solids" in row:
        wanted = row["solids"] if isinstance(row["solids"], list) else [row["solids"]]
        assert [part.facts.solids for part in result.parts if part.facts] == wanted
    for component in row.get("components", []):
        assert f"'{component}'".encode() in result.artifacts["part.step"].data
    assert {notice.code for notice in result.warnings} >= set(row.get("notices", []))


@pytest.mark.parametrize("name", sorted(ERRORS))
def test_exceptions_come_back_structured(name: str, host: Host, profile: str) -> None:
    result = host.run((DATA / "errors" / f"{name}.py").read_bytes(), profile)
    row = ERRORS[name]
    assert not result.ok
    assert result.outcome.exit_code == row.get("exit_code", 1)
    error = result.outcome.error
    assert error is not None
    assert (error.type, error.line, error.function) == (row["type"], row["line"], row["function"])
    assert row.get("message", "") in error.message
    assert row["hint"] in error.hint
    assert bool(row["hint"]) == bool(error.hint)
    if error.line:
        text = (DATA / "errors" / f"{name}.py").read_text("utf-8").splitlines()[error.line - 1]
        assert error.source_line.strip() == text.strip()


# hazard → (reason, verdict or limit or signal)
HAZARDS: dict[str, tuple[Reason, object]] = {
    "big_numbers": (Reason.POLICY, None),
    "build123d_builder_left": (Reason.EXITED, Verdict.PART),
    "empty_cut": (Reason.EXITED, Verdict.NO_SOLID),
    "exit_zero": (Reason.EXITED, Verdict.NO_RESULT),
    "hang_many_bosses": (Reason.LIMIT, Limit.WALL_TIME),
    "monkeypatch": (Reason.POLICY, None),
    "nan_dimension": (Reason.EXITED, Verdict.NOT_FINITE),
    "segv_shell_then_fillet": (Reason.SIGNALED, 11),
    "segv_tiny_taper": (Reason.SIGNALED, 11),
    "self_intersecting": (Reason.EXITED, Verdict.INVALID),
    "swallow_everything": (Reason.LIMIT, Limit.WALL_TIME),
    "text_plate": (Reason.EXITED, Verdict.PART),
    "two_bodies": (Reason.EXITED, Verdict.PART),
}


@pytest.mark.parametrize("name", sorted(HAZARDS))
def test_hazards_get_their_verdict_and_the_next_job_is_unaffected(name: str, host: Host, profile: str) -> None:
    reason, what = HAZARDS[name]
    deadline = Deadline.after(5) if reason is Reason.LIMIT else None
    outcome = host.run((DATA / "hazards" / f"{name}.py").read_bytes(), profile, deadline=deadline).outcome
    assert outcome.reason is reason, outcome
    assert what in (outcome.verdict, outcome.limit, outcome.signal)
    assert outcome.ok == (outcome.verdict is Verdict.PART)
    after = host.run("import cadquery as cq\nresult = cq.Workplane().box(1, 2, 3)\n", profile)
    assert volumes(after) == [pytest.approx(6)]


@pytest.mark.timeout(400)
@pytest.mark.parametrize("across", [15, pytest.param(30, marks=pytest.mark.long)])
def test_a_fine_plate_is_delivered(across: int, host: Host, profile: str, tmp_path: Path) -> None:
    # The validity check takes OCCT half a minute on a slow machine: the budgets are made wide, the job is the same.
    text = (PROFILES / f"{profile}.toml").read_text("utf-8")
    for row, wide in (
        ("wall_time = 60.0", 300),
        ("cpu_time = 60.0", 300),
        ("facts = 45.0", 300),
        ("to_live = 120.0", 600),
    ):
        assert text.count(row) == 1
        text = text.replace(row, f"{row.split()[0]} = {wide}.0")
    wide_profile = tmp_path / "wide.toml"
    wide_profile.write_text(text, "utf-8")
    script = (DATA / "hazards" / "fine_mesh_plate.py").read_text("utf-8")
    assert script.count("30, 30") == 1
    result = host.run(script.replace("30, 30", f"{across}, {across}"), str(wide_profile))
    # 310 · 310 · 5 less so many rows of so many holes, each 3² · pi · 5
    assert volumes(result) == [pytest.approx(310 * 310 * 5 - across**2 * 45 * 3.14159265358979, rel=1e-6)]


# Honest, but OCCT itself calls what they build invalid.
INVALID = {"bd_sketch_operations"}


@pytest.mark.parametrize("script", sorted((DATA / "honest").glob("*.py")), ids=lambda path: path.stem)
def test_honest_scripts_give_a_part(script: Path, host: Host, profile: str) -> None:
    result = host.run(script.read_bytes(), profile)
    if script.stem in INVALID:
        assert (result.outcome.verdict, result.artifacts) == (Verdict.INVALID, {})
        return
    assert result.ok, result.outcome
    assert all(volume > 0 for volume in volumes(result))


def test_identical_input_gives_identical_bytes(host: Host, profile: str) -> None:
    source = (EXAMPLES / "motor_bracket.py").read_bytes()
    first, second = (host.run(source, profile).artifacts["part.step"] for _ in range(2))
    with Host() as other:
        third = other.run(source, profile).artifacts["part.step"]
    assert first.data == second.data == third.data
