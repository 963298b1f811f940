"""Turns the keeper's facts and a plain program's claims into its outcome. Pure; the rule is that of `outcomes`."""

from __future__ import annotations

import dataclasses
import signal

from casemate.model import Limit, Outcome, Reason, ScriptError, Stage
from casemate.runtime import artifacts, report
from casemate.runtime.rooms import Ended

_ADVICE = {
    Limit.WALL_TIME: "it did not end in time",
    Limit.CPU_TIME: "it took too much processor time",
    Limit.MEMORY: "it took more memory than allowed",
}
_SIGNALS = {signal.SIGSEGV: "native code crashed", signal.SIGABRT: "native code called abort"}


def outcome(facts: Ended, told: report.Report, refused: artifacts.Refused | None) -> Outcome:
    """Why it ended. There are no parts and so no verdict; an exception is its own claim, believed if it left with 1."""
    found = Outcome(
        reason=Reason(facts.reason), stage=Stage.SCRIPT, limit=Limit(facts.limit) if facts.limit else None,
        exit_code=facts.exit_code if facts.exit_code >= 0 else None, signal=facts.signal or None,
    )  # fmt: skip
    if found.limit is not None:
        return dataclasses.replace(found, message=f"{found.limit}: {_ADVICE.get(found.limit, 'it gave too much')}")
    if found.reason is Reason.SIGNALED:
        return dataclasses.replace(found, message=_signal(facts.signal))
    if found.reason is not Reason.EXITED:
        return found
    if isinstance(refused, artifacts.OverLimit):
        return dataclasses.replace(
            found, reason=Reason.LIMIT, limit=Limit(refused.limit), stage=Stage.HANDOVER, message=str(refused)
        )
    error = told.error
    if facts.exit_code == 1 and error is not None:
        claimed = ScriptError(error.type, error.message, error.line, error.source_line, error.function, error.hint)
        text = f"{error.type}: {error.message}" + (f" (line {error.line})" if error.line else "")
        return dataclasses.replace(found, error=claimed, message=text)
    return found if facts.exit_code else dataclasses.replace(found, stage=Stage.DONE)


def _signal(number: int) -> str:
    try:
        known = signal.Signals(number)
    except ValueError:
        return f"ended by signal {number}"
    return f"{known.name}: {_SIGNALS[known]}" if known in _SIGNALS else f"ended by {known.name}"
