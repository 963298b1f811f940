"""The second sandbox: what it says counts only if it is whole, finite, and about what was handed over."""

from __future__ import annotations

import hashlib
import signal
from typing import Any

import pytest
from control.claims import BUDGETS, HANDOVER, ended, error, part, stage, told

from casemate.control import outcomes
from casemate.model import Artifact, Facts, Limit, Outcome, Part, Reason, Stage, Verdict
from casemate.runtime import artifacts, report

SCRIPT = Outcome(Reason.EXITED, Stage.SCRIPT, exit_code=0)
TWO = {"kind": "handover", "parts": [{**HANDOVER["parts"][0], "name": name} for name in ("a", "b")]}  # type: ignore[index]


def handed(record: dict[str, Any]) -> report.HandoverRecord:
    found = told(record).handover
    assert found is not None
    return found


def inspected(
    facts: object, *records: dict[str, Any], given: dict[str, Any] = HANDOVER,
    refused: artifacts.Refused | None = None, damaged: str = "",
) -> tuple[Outcome, tuple[Part, ...]]:  # fmt: skip
    return outcomes.of_inspection(SCRIPT, facts, told(*records, damaged=damaged), handed(given), refused, BUDGETS)  # type: ignore[arg-type]


def assert_failed(outcome: Outcome, parts: tuple[Part, ...]) -> None:
    assert (outcome.verdict, parts, outcome.ok) == (Verdict.INSPECTOR_FAILED, (), False)


def test_a_part_with_file_and_facts_is_a_part() -> None:
    outcome, parts = inspected(ended(), part())
    assert (outcome.reason, outcome.stage, outcome.verdict) == (Reason.EXITED, Stage.DONE, Verdict.PART)
    assert outcome.ok
    assert (parts[0].name, parts[0].artifact, parts[0].source) == ("part", "part.step", "result")
    assert parts[0].facts is not None
    assert parts[0].facts.volume == 6000.0


@pytest.mark.parametrize(
    ("facts", "reason", "limit"),
    [
        (ended(reason="limit", limit="memory", exit_code=-1), Reason.LIMIT, Limit.MEMORY),
        (ended(reason="limit", limit="wall_time", exit_code=-1), Reason.LIMIT, Limit.WALL_TIME),
        (ended(reason="signaled", exit_code=-1, signal=11), Reason.SIGNALED, None),
        (ended(reason="signaled", exit_code=-1, signal=int(signal.SIGALRM), wall=99.0), Reason.LIMIT, Limit.WALL_TIME),
        (ended(reason="cancelled", exit_code=-1), Reason.CANCELLED, None),
        (ended(reason="lost", exit_code=-1), Reason.LOST, None),
        (ended(exit_code=1), Reason.EXITED, None),
        (ended(exit_code=70), Reason.EXITED, None),
        (ended(exit_code=-1), Reason.EXITED, None),
    ],
)
def test_an_inspector_that_did_not_end_well_is_a_verdict(facts: object, reason: Reason, limit: Limit | None) -> None:
    outcome, parts = inspected(facts, stage("step"), part())
    assert_failed(outcome, parts)
    assert (outcome.reason, outcome.limit, outcome.stage) == (reason, limit, Stage.STEP)


@pytest.mark.parametrize(
    "records",
    [
        (),
        (part(), part()),
        (part(name="other"),),
        (part(), part(name="more", file="more.step")),
        (stage("facts"),),
    ],
)
def test_other_parts_than_were_handed_over_are_no_result(records: tuple[dict[str, Any], ...]) -> None:
    assert_failed(*inspected(ended(), *records))


def test_parts_come_in_the_order_of_the_hand_over() -> None:
    a, b = part(name="a", file="a.step"), part(name="b", file="b.step")
    outcome, parts = inspected(ended(), a, b, given=TWO)
    assert outcome.ok
    assert [p.name for p in parts] == ["a", "b"]
    assert_failed(*inspected(ended(), b, a, given=TWO))
    assert_failed(*inspected(ended(), a, given=TWO))


@pytest.mark.parametrize(
    "change",
    [
        {"valid": False}, {"solids": 0}, {"solids": -1}, {"volume": 0.0}, {"volume": -6000.0}, {"volume": -0.0},
    ],
)  # fmt: skip
def test_a_part_that_its_own_facts_deny_is_refused(change: dict[str, Any]) -> None:
    assert_failed(*inspected(ended(), part(**change)))


def test_a_part_without_file_or_facts_is_refused() -> None:
    assert_failed(*inspected(ended(), part(file=None)))
    assert_failed(*inspected(ended(), {**part(), "facts": None}))


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("name", ["volume", "area", "bounding_box", "center_of_mass"])
@pytest.mark.parametrize("verdict", [Verdict.PART, Verdict.INVALID, Verdict.NOT_FINITE])
def test_facts_that_are_not_finite_are_never_delivered(number: float, name: str, verdict: Verdict) -> None:
    # The report's parser refuses them too; this is the second line.
    good = told(part()).parts[0]
    assert good.facts is not None
    values = {field: getattr(good.facts, field) for field in Facts.__dataclass_fields__}
    values[name] = (number, *values[name][1:]) if isinstance(values[name], tuple) else number
    bad = good.model_copy(update={"facts": Facts(**values), "verdict": verdict})
    assert_failed(*outcomes.of_inspection(SCRIPT, ended(), report.Report((bad,)), handed(HANDOVER), None, BUDGETS))


def test_a_file_that_was_claimed_and_is_not_there_is_refused() -> None:
    missing = artifacts.Refused("part.step: openat2: No such file or directory")
    outcome, parts = inspected(ended(), part(), refused=missing)
    assert_failed(outcome, parts)
    assert "part.step" in outcome.message


@pytest.mark.parametrize("limit", ["artifact_count", "artifact_bytes", "artifact_total_bytes"])
def test_a_file_over_a_limit_is_that_limit(limit: str) -> None:
    outcome, parts = inspected(ended(), part(), refused=artifacts.OverLimit(limit, "part.step: too big"))
    assert_failed(outcome, parts)
    assert (outcome.reason, outcome.limit) == (Reason.LIMIT, Limit(limit))


def test_why_it_failed_is_said() -> None:
    assert "writer" in inspected(ended(exit_code=1), error("writer gave up", "step"))[0].message
    assert "SIGSEGV" in inspected(ended(reason="signaled", exit_code=-1, signal=11))[0].message
    assert "length 9" in inspected(ended(), damaged="record 0: length 9 does not fit")[0].message


@pytest.mark.parametrize("verdict", [v for v in Verdict if v is not Verdict.PART])
def test_any_other_verdict_is_no_success(verdict: Verdict) -> None:
    outcome, parts = inspected(ended(), part(verdict.value))
    assert (outcome.reason, outcome.verdict, outcome.stage) == (Reason.EXITED, verdict, Stage.DONE)
    assert not outcome.ok
    assert len(parts) == 1
    assert "why" in outcome.message


@pytest.mark.parametrize(
    ("first", "second", "overall"),
    [
        ("part", "part", "part"),
        ("part", "no_solid", "part"),  # a sketch that was shown beside a part
        ("no_solid", "no_solid", "no_solid"),
        ("part", "invalid", "invalid"),
        ("zero_volume", "part", "zero_volume"),
        ("no_solid", "not_finite", "not_finite"),
    ],
)
def test_the_whole_is_as_good_as_its_worst_part(first: str, second: str, overall: str) -> None:
    records = part(first, "a", "a.step"), part(second, "b", "b.step")
    outcome, parts = inspected(ended(), *records, given=TWO)
    assert outcome.verdict == overall
    assert [p.verdict for p in parts] == [first, second]


def file(name: str) -> Artifact:
    return Artifact(name, b"ISO-10303-21;", hashlib.sha256(b"ISO-10303-21;").hexdigest())


def test_only_files_that_a_part_names_are_delivered() -> None:
    _, parts = inspected(ended(), part("part", "a", "a.step"), part("no_solid", "b", None), given=TWO)
    kept, files = outcomes.matched(parts, {name: file(name) for name in ("a.step", "b.step", "extra.step")})
    assert set(files) == {"a.step"}
    assert [p.artifact for p in kept] == ["a.step", None]


@pytest.mark.parametrize("verdict", ["invalid", "zero_volume", "not_finite", "writer_failed", "inspector_failed"])
def test_a_file_of_what_is_wrong_is_not_delivered(verdict: str) -> None:
    _, parts = inspected(ended(), part(verdict))
    kept, files = outcomes.matched(parts, {"part.step": file("part.step")})
    assert files == {}
    assert kept[0].artifact is None


def test_a_part_whose_facts_are_missing_is_not_delivered() -> None:
    _, parts = inspected(ended(), {**part("no_solid"), "facts": None})
    assert outcomes.matched(parts, {"part.step": file("part.step")})[1] == {}
