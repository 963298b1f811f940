"""Turns the keeper's facts and a guest's claims into outcomes. Pure; the one place where a verdict is made.

The rule: `reason`, `limit`, `exit_code` and `signal` are the keeper's. A claim may explain them (which stage, which
exception, which denials) and never contradict them. `lost` and everything unclear is never success.
"""

from __future__ import annotations

import dataclasses
import math
import signal
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from casemate.model import (
    Artifact,
    Enforcement,
    Layer,
    Limit,
    Outcome,
    Part,
    Reason,
    RunResult,
    ScriptError,
    Stage,
    Stream,
    Usage,
    Verdict,
)
from casemate.policy import Plan
from casemate.runtime import artifacts, report
from casemate.runtime.images import Image
from casemate.runtime.rooms import Ended, Seen

if TYPE_CHECKING:
    from casemate.control.runs import Executed

DENIED_EXIT = 3
_EMPTY = Stream(b"", 0, False)
_SIGNALS = {
    signal.SIGSEGV: "native code crashed, most likely the geometry kernel",
    signal.SIGABRT: "native code called abort",
}


def _base(facts: Ended, stage: Stage) -> Outcome:
    return Outcome(
        reason=Reason(facts.reason), stage=stage, limit=Limit(facts.limit) if facts.limit else None,
        exit_code=facts.exit_code if facts.exit_code >= 0 else None, signal=facts.signal or None,
    )  # fmt: skip


def of_script(
    facts: Ended, told: report.Report, *, gated: bool, check_only: bool, budgets: Mapping[str, float]
) -> Outcome:
    """The outcome of the first sandbox; its verdict is None where the second has yet to speak.

    `budgets` are the seconds of the stages that end themselves: a SIGALRM is believed only where the keeper's clock
    shows that as much has passed, for anybody can send himself a signal.
    """
    gate = told.gate if gated else None
    passed = not gated or (gate is not None and gate.admitted)
    stage = _claimed(told.unfinished) if passed else Stage.GATE
    outcome = _base(facts, stage)
    if gated and gate is not None and not gate.admitted:
        if facts.reason == "exited" and facts.exit_code == DENIED_EXIT:
            first = gate.denials[0] if gate.denials else None
            message = f"line {first.line}: {first.message}" if first else "denied"
            return dataclasses.replace(
                outcome, reason=Reason.POLICY, stage=Stage.GATE, denials=gate.denials, exit_code=None, message=message
            )
        if facts.reason == "exited":
            return dataclasses.replace(
                outcome, reason=Reason.LOST, message="the gate denied and the process did not end so"
            )
    if outcome.reason is Reason.LIMIT:
        where = f"in stage {stage}" if facts.report_total or not gated else "before the gate had spoken"
        return dataclasses.replace(outcome, message=f"{outcome.limit} {where}{_advice(outcome.limit, facts)}")
    if outcome.reason is Reason.SIGNALED:
        if facts.signal == signal.SIGALRM and facts.wall >= budgets.get(stage, math.inf):
            return dataclasses.replace(
                outcome, reason=Reason.LIMIT, limit=Limit.WALL_TIME, message=f"{stage} took longer than its budget"
            )
        return dataclasses.replace(outcome, message=_signal(facts.signal))
    if outcome.reason is not Reason.EXITED:
        return outcome
    if gated and gate is None:
        return dataclasses.replace(outcome, reason=Reason.LOST, message=f"no verdict of the gate: {told.damaged}")
    if check_only:
        return dataclasses.replace(outcome, stage=Stage.DONE)
    error = told.error
    if error is not None:
        claimed = ScriptError(error.type, error.message, error.line, error.source_line, error.function, error.hint)
        text = f"{error.type}: {error.message}" + (f" (line {error.line})" if error.line else "")
        if told.no_parts is not None:
            text = told.no_parts.message
        outcome = dataclasses.replace(
            outcome, error=claimed, message=text, stage=_claimed(error.stage), verdict=Verdict.NO_RESULT
        )
    elif facts.exit_code != 0 or (told.no_parts is None and told.handover is None):
        outcome = dataclasses.replace(
            outcome, verdict=Verdict.NO_RESULT, message=told.damaged or "ended before its result was taken"
        )
    elif told.no_parts is not None:
        verdict = (
            told.no_parts.verdict
            if told.no_parts.verdict in (Verdict.NO_RESULT, Verdict.NO_SOLID)
            else Verdict.NO_RESULT
        )
        outcome = dataclasses.replace(outcome, verdict=verdict, message=told.no_parts.message)
    return outcome


def _advice(limit: Limit | None, facts: Ended) -> str:
    """What a model can do about it."""
    advice = {
        Limit.WALL_TIME: f": it did not end within {facts.wall:.0f} s; look for an endless loop or too many features",
        Limit.CPU_TIME: f": it took {facts.cpu:.0f} s of processor time",
        Limit.MEMORY: ": it took more memory than allowed; make fewer or simpler shapes",
    }
    return advice.get(limit, "") if limit else ""


def _claimed(name: str) -> Stage:
    """The stage that the script's process says it is in: it can only be one of its own."""
    return Stage.HANDOVER if name in (Stage.HANDOVER, Stage.STEP, Stage.FACTS) else Stage.SCRIPT


def _signal(number: int) -> str:
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    return f"{name}: {_SIGNALS[signal.Signals(number)]}" if number in _SIGNALS else f"ended by {name}"


def not_collected(outcome: Outcome, refused: artifacts.Refused | None) -> Outcome:
    """What the script left could not be taken."""
    if isinstance(refused, artifacts.OverLimit):
        return dataclasses.replace(
            outcome, reason=Reason.LIMIT, limit=Limit(refused.limit), stage=Stage.HANDOVER, message=str(refused)
        )
    return dataclasses.replace(
        outcome, stage=Stage.HANDOVER, verdict=Verdict.NO_RESULT, message=str(refused or "no hand-over")
    )


def of_inspection(
    script: Outcome, facts: Ended, told: report.Report, handover: report.HandoverRecord,
    refused: artifacts.Refused | None, budgets: Mapping[str, float],
) -> tuple[Outcome, tuple[Part, ...]]:  # fmt: skip
    """The outcome of the whole job, and its parts, from the second sandbox."""
    stage = Stage(told.unfinished or "facts")
    base = _base(facts, stage)
    if base.reason is Reason.SIGNALED and facts.signal == signal.SIGALRM and facts.wall >= budgets.get(stage, math.inf):
        base = dataclasses.replace(base, reason=Reason.LIMIT, limit=Limit.WALL_TIME)
    names = [part.name for part in handover.parts]
    whole = [part.name for part in told.parts] == names and all(_consistent(part) for part in told.parts)
    if base.reason is Reason.CANCELLED or base.reason is Reason.LOST:
        return dataclasses.replace(base, verdict=Verdict.INSPECTOR_FAILED), ()
    if base.reason is not Reason.EXITED or base.exit_code != 0 or not whole or refused is not None:
        error = told.error
        why = str(refused or told.damaged or "it did not end well")
        if base.limit:
            why = f"{base.limit} in stage {stage}"
        elif facts.signal:
            why = _signal(facts.signal)
        elif error is not None:
            why = f"{error.type}: {error.message}"
        if isinstance(refused, artifacts.OverLimit):
            base = dataclasses.replace(base, reason=Reason.LIMIT, limit=Limit(refused.limit))
        return dataclasses.replace(base, verdict=Verdict.INSPECTOR_FAILED, message=f"inspection: {why}"), ()
    sources = {part.name: part.source for part in handover.parts}
    parts = tuple(
        Part(r.name, r.verdict, r.file, r.facts if r.file else None, sources[r.name], r.message) for r in told.parts
    )
    verdict, message = _overall(parts)
    return dataclasses.replace(script, stage=Stage.DONE, verdict=verdict, message=message), parts


def _consistent(part: report.PartRecord) -> bool:
    """A part has a file and facts; every number is finite; what is called a part has a solid with a volume."""
    facts = part.facts
    if facts is not None:
        numbers = (facts.volume, facts.area, *facts.bounding_box, *facts.center_of_mass)
        if not all(math.isfinite(number) for number in numbers):
            return False
    if part.verdict is Verdict.PART:
        return part.file is not None and facts is not None and facts.valid and facts.solids > 0 and facts.volume > 0
    return True


def _overall(parts: Sequence[Part]) -> tuple[Verdict, str]:
    """A part if there is one and nothing is wrong but things shown that are no solids."""
    wrong = [part for part in parts if part.verdict is not Verdict.PART]
    serious = [part for part in wrong if part.verdict is not Verdict.NO_SOLID]
    if serious or len(wrong) == len(parts):
        first = (serious or wrong)[0]
        return first.verdict, f"{first.name}: {first.message}"
    return Verdict.PART, ""


def matched(parts: Sequence[Part], files: Mapping[str, Artifact]) -> tuple[tuple[Part, ...], dict[str, Artifact]]:
    """Only a part's file is delivered, or a sketch's that is no solid; what is wrong keeps its facts and no file."""
    good = [part.verdict in (Verdict.PART, Verdict.NO_SOLID) and part.facts is not None for part in parts]
    kept = tuple(p if ok else dataclasses.replace(p, artifact=None) for p, ok in zip(parts, good, strict=True))
    wanted = {part.artifact for part in kept}
    return kept, {name: artifact for name, artifact in files.items() if name in wanted}


def usage(first: Executed, second: Executed | None) -> Usage:
    """What both sandboxes took together; `wall` is by the keeper's clock, from lockdown to the end of each."""
    facts = [executed.facts for executed in (first, second) if executed is not None]
    cpu = [f.cpu for f in facts]
    return Usage(
        wall=sum(f.wall for f in facts),
        cpu=sum(cpu) if min(cpu) >= 0 else None,
        memory_peak=_peak([f.memory_peak for f in facts]),
        processes_peak=_peak([f.processes_peak for f in facts]),
        disk_bytes=_peak([f.disk_bytes for f in facts]),
        teardown=max(f.teardown for f in facts),
        stages=(*first.report.stages, *(second.report.stages if second else ())),
        refused=tuple(sorted({name for f in facts for name in f.refused})),
    )


def _peak(values: Sequence[int]) -> int | None:
    return max(values) if min(values) >= 0 else None


def enforcement(
    plan: Plan, image: Image, ground: Sequence[Seen] = (), first: Executed | None = None, second: Executed | None = None
) -> Enforcement:
    """Which layers were read back as on: of the room, of the script's sandbox, and of the second as `inspect.…`."""
    profile = plan.profile
    groups = [
        ("", ground),
        ("", first.facts.layers if first else ()),
        ("inspect.", second.facts.layers if second else ()),
    ]
    seen = tuple(Layer(prefix + layer.name, layer.on, layer.detail) for prefix, group in groups for layer in group)
    return Enforcement(profile.name, profile.digest, image.digest, seen, plan.degraded)


def without_execution(name: str, plan: Plan, image: Image, limit: Limit, message: str) -> RunResult:
    """A result where nothing was started, because a limit was reached before."""
    return _nothing(name, plan, image, Outcome(Reason.LIMIT, Stage.GATE, limit=limit, message=message))


def lost(name: str, plan: Plan, image: Image, message: str) -> RunResult:
    """A result where our own fault left nothing to tell."""
    return _nothing(name, plan, image, Outcome(Reason.LOST, Stage.GATE, message=message))


def _nothing(name: str, plan: Plan, image: Image, outcome: Outcome) -> RunResult:
    return RunResult(
        id=name, outcome=outcome, stdout=_EMPTY, stderr=_EMPTY, parts=(), artifacts={},
        usage=Usage(0.0, None, None, None), enforcement=enforcement(plan, image), trusted=trusted(plan),
    )  # fmt: skip


def trusted(plan: Plan) -> bool:
    """Whether files and facts come from a clean sandbox; the same for every result under a profile."""
    return plan.profile.artifacts.inspection == "required"
