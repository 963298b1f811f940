"""The first sandbox: why it ended is what the keeper saw; a claim may explain it and never make a success."""

from __future__ import annotations

import dataclasses
import itertools
import signal
from typing import Any

import pytest
from control.claims import BUDGETS, DENIED, GATE, HANDOVER, NOPARTS, ended, error, stage, told

from casemate.control import outcomes
from casemate.model import Limit, Outcome, Reason, Stage, Verdict
from casemate.runtime import artifacts


def script(facts: object, *records: dict[str, Any], gated: bool = True, check: bool = False, **rest: Any) -> Outcome:
    return outcomes.of_script(facts, told(*records, **rest), gated=gated, check_only=check, budgets=BUDGETS)  # type: ignore[arg-type]


WELL = (GATE, stage("script"), stage("script", "end"), stage("handover"), HANDOVER, stage("handover", "end"))


def test_a_hand_over_waits_for_the_second_sandbox() -> None:
    outcome = script(ended(), *WELL)
    assert (outcome.reason, outcome.exit_code, outcome.verdict) == (Reason.EXITED, 0, None)


@pytest.mark.parametrize("limit", sorted(Limit))
def test_a_limit_is_the_keepers_whatever_is_claimed(limit: Limit) -> None:
    outcome = script(ended(reason="limit", limit=limit.value, exit_code=-1, signal=9), *WELL)
    assert (outcome.reason, outcome.limit, outcome.exit_code, outcome.ok) == (Reason.LIMIT, limit, None, False)
    assert limit in outcome.message


@pytest.mark.parametrize("reason", ["cancelled", "lost"])
def test_no_other_end_is_explained_away(reason: str) -> None:
    for exit_code in (-1, 0):
        outcome = script(ended(reason=reason, exit_code=exit_code), *WELL)
        assert (outcome.reason, outcome.ok) == (Reason(reason), False)


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL, signal.SIGSYS, 40, 64])
def test_a_signal_is_named(number: int) -> None:
    outcome = script(ended(reason="signaled", exit_code=-1, signal=number), *WELL)
    assert (outcome.reason, outcome.signal, outcome.exit_code, outcome.ok) == (Reason.SIGNALED, number, None, False)
    name = signal.Signals(number).name if number in list(signal.Signals) else str(number)
    assert name in outcome.message


def test_a_crash_in_native_code_is_said() -> None:
    assert "native" in script(ended(reason="signaled", exit_code=-1, signal=11), GATE, stage("script")).message


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ((), Stage.GATE),
        ((GATE,), Stage.SCRIPT),
        ((GATE, stage("script")), Stage.SCRIPT),
        ((GATE, stage("script"), stage("script", "end"), stage("handover")), Stage.HANDOVER),
        ((DENIED,), Stage.GATE),
    ],
)
def test_the_stage_is_the_one_that_was_going_on(records: tuple[dict[str, Any], ...], expected: Stage) -> None:
    assert script(ended(reason="limit", limit="wall_time", exit_code=-1), *records).stage is expected


def test_a_hand_over_that_takes_too_long_is_a_limit() -> None:
    alarm = ended(reason="signaled", exit_code=-1, signal=int(signal.SIGALRM), wall=BUDGETS["handover"] + 1)
    outcome = script(alarm, GATE, stage("handover"))
    assert (outcome.reason, outcome.limit, outcome.stage) == (Reason.LIMIT, Limit.WALL_TIME, Stage.HANDOVER)
    early = dataclasses.replace(alarm, wall=0.2)  # a claim of that stage, and an alarm of the script's own making
    assert script(early, GATE, stage("handover")).reason is Reason.SIGNALED
    outcome = script(alarm, GATE, stage("script"))  # the script's own alarm
    assert (outcome.reason, outcome.signal) == (Reason.SIGNALED, signal.SIGALRM)


# --- the gate ---------------------------------------------------------------------------------------------------------


def test_a_denial_is_a_policy_result() -> None:
    outcome = script(ended(exit_code=3), DENIED)
    assert (outcome.reason, outcome.stage, outcome.exit_code) == (Reason.POLICY, Stage.GATE, None)
    assert [(denial.name, denial.line) for denial in outcome.denials] == [("os", 3)]
    assert "line 3" in outcome.message
    assert not outcome.ok


@pytest.mark.parametrize("exit_code", [0, 1, 2, 4, 255, -1])
def test_a_denial_that_did_not_end_so_is_lost(exit_code: int) -> None:
    outcome = script(ended(exit_code=exit_code), DENIED, HANDOVER)
    assert (outcome.reason, outcome.ok, outcome.denials) == (Reason.LOST, False, ())


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"reason": "cancelled"}, Reason.CANCELLED),
        ({"reason": "limit", "limit": "memory"}, Reason.LIMIT),
        ({"reason": "signaled", "signal": 11}, Reason.SIGNALED),
        ({"reason": "lost"}, Reason.LOST),
    ],
)
def test_a_denial_does_not_change_what_the_keeper_saw(facts: dict[str, Any], reason: Reason) -> None:
    outcome = script(ended(exit_code=-1, **facts), DENIED)
    assert (outcome.reason, outcome.stage, outcome.ok) == (reason, Stage.GATE, False)


@pytest.mark.parametrize("records", [(), (HANDOVER,), (stage("script"), GATE, HANDOVER), (NOPARTS,)])
def test_no_verdict_of_the_gate_is_lost(records: tuple[dict[str, Any], ...]) -> None:
    for exit_code in (0, 1, 3):
        outcome = script(ended(exit_code=exit_code), *records)
        assert (outcome.reason, outcome.stage, outcome.ok) == (Reason.LOST, Stage.GATE, False)


def test_a_forged_admission_after_a_denial_changes_nothing() -> None:
    for exit_code in range(256):
        outcome = script(ended(exit_code=exit_code), DENIED, GATE, *WELL[1:])
        assert outcome.reason in (Reason.POLICY, Reason.LOST)
        assert not outcome.ok


def test_a_forged_denial_after_an_admission_is_no_denial() -> None:
    outcome = script(ended(exit_code=3), GATE, DENIED)
    assert (outcome.reason, outcome.denials, outcome.exit_code) == (Reason.EXITED, (), 3)
    assert outcome.verdict is Verdict.NO_RESULT


def test_exit_three_of_a_script_is_an_exit() -> None:
    outcome = script(ended(exit_code=3), GATE, stage("script"))
    assert (outcome.reason, outcome.exit_code, outcome.verdict) == (Reason.EXITED, 3, Verdict.NO_RESULT)


def test_without_a_gate_its_records_mean_nothing() -> None:
    assert script(ended(exit_code=3), DENIED, gated=False).reason is Reason.EXITED
    assert script(ended(), stage("script"), HANDOVER, gated=False).verdict is None


def test_a_check_ends_with_the_gate() -> None:
    outcome = script(ended(), GATE, check=True)
    assert (outcome.reason, outcome.stage, outcome.exit_code, outcome.ok) == (Reason.EXITED, Stage.DONE, 0, True)
    assert not script(ended(exit_code=1), GATE, check=True).ok
    assert script(ended(exit_code=3), DENIED, check=True).reason is Reason.POLICY
    assert script(ended(), check=True).reason is Reason.LOST
    assert not script(ended(reason="signaled", exit_code=-1, signal=11), GATE, check=True).ok


# --- what a script leaves ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exit_code", [0, 1])
def test_an_exception_comes_back_structured(exit_code: int) -> None:
    outcome = script(ended(exit_code=exit_code), GATE, stage("script"), error())
    assert (outcome.reason, outcome.stage, outcome.verdict) == (Reason.EXITED, Stage.SCRIPT, Verdict.NO_RESULT)
    assert outcome.error is not None
    assert (outcome.error.type, outcome.error.line, outcome.error.function) == ("ValueError", 4, "f")
    assert "line 4" in outcome.message
    assert not outcome.ok


def test_an_exception_and_a_hand_over_are_no_success() -> None:
    assert script(ended(), GATE, error(), HANDOVER).verdict is Verdict.NO_RESULT


@pytest.mark.parametrize(
    ("exit_code", "records"),
    [(0, (GATE, stage("script"))), (0, (GATE,)), (1, WELL), (70, WELL), (255, WELL), (0, (*WELL, HANDOVER))],
)
def test_no_hand_over_or_a_bad_exit_is_no_result(exit_code: int, records: tuple[dict[str, Any], ...]) -> None:
    outcome = script(ended(exit_code=exit_code), *records)
    assert (outcome.reason, outcome.verdict, outcome.ok) == (Reason.EXITED, Verdict.NO_RESULT, False)
    assert outcome.message


@pytest.mark.parametrize("claimed", sorted(Verdict))
def test_nothing_to_hand_over_is_never_a_part(claimed: Verdict) -> None:
    outcome = script(ended(), GATE, {**NOPARTS, "verdict": claimed.value}, HANDOVER)
    expected = claimed if claimed in (Verdict.NO_RESULT, Verdict.NO_SOLID) else Verdict.NO_RESULT
    assert (outcome.verdict, outcome.message, outcome.ok) == (expected, "nothing to hand over", False)


def test_a_hand_over_that_cannot_be_taken_is_no_result() -> None:
    waiting = script(ended(), *WELL)
    for refused in (None, artifacts.Refused("0-0.brep: has 2 names")):
        outcome = outcomes.not_collected(waiting, refused)
        assert (outcome.verdict, outcome.stage, outcome.ok) == (Verdict.NO_RESULT, Stage.HANDOVER, False)
    over = outcomes.not_collected(waiting, artifacts.OverLimit("artifact_bytes", "too big"))
    assert (over.reason, over.limit, over.ok) == (Reason.LIMIT, Limit.ARTIFACT_BYTES, False)


def test_no_claim_makes_a_success_of_a_bad_end() -> None:
    ends = [
        ended(reason="limit", limit="memory", exit_code=-1), ended(reason="signaled", exit_code=-1, signal=11),
        ended(reason="cancelled", exit_code=-1), ended(reason="lost", exit_code=-1), ended(exit_code=1),
        ended(exit_code=-1),
    ]  # fmt: skip
    claims = [(), WELL, (DENIED, *WELL), (GATE, NOPARTS), (GATE, error()), (GATE, GATE, *WELL, HANDOVER)]
    for facts, records, gated, check in itertools.product(ends, claims, (True, False), (True, False)):
        assert not script(facts, *records, gated=gated, check=check).ok
