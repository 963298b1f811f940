"""What went wrong with an attempt, as faults for programs and as a few lines that a model can repair by.

Everything from a sandbox is a claim and is quoted as text; nothing of it is obeyed.
"""

from __future__ import annotations

from casemate.cad.checks import Checks, Fault
from casemate.model import Facts, Limit, Outcome, Part, Reason, RunResult, Verdict

MOST_DENIALS = 8
MOST_CHARACTERS = 3000
_LINE = 200

NO_CODE = Fault("no_code", "the answer held no script: answer with one fenced Python block")
CUT = Fault("cut", "the answer broke off before the end of the script: write a shorter one")
_LIMITS = {
    Limit.WALL_TIME: "it did not end in {seconds:.0f} s: make loops end, and use fewer or simpler operations",
    Limit.CPU_TIME: "it used up its processor time: use fewer or simpler operations",
    Limit.MEMORY: "it used up its memory: make fewer or smaller things",
}
_VERDICTS = {
    Verdict.NO_RESULT: "it ended well but gave no part: assign the finished part to a variable called result",
    Verdict.NO_SOLID: "the result holds no solid: extrude, revolve, loft or sweep a closed profile",
    Verdict.INVALID: "the result is an invalid solid",
    Verdict.ZERO_VOLUME: "the result has no volume, or is inside out",
    Verdict.NOT_FINITE: "the result has coordinates that are not numbers: check divisions and square roots",
    Verdict.WRITER_FAILED: "the result could not be written as STEP: it is probably broken",
    Verdict.INSPECTOR_FAILED: "the result could not be measured: it is probably broken or far too complex",
}


def faults(result: RunResult, checks: Checks) -> tuple[Fault, ...]:
    """Nothing if the result is a part that passes every check."""
    outcome = result.outcome
    if outcome.reason is Reason.POLICY:
        told = tuple(_denied(outcome, number) for number in range(min(len(outcome.denials), MOST_DENIALS)))
        return told or (Fault("denied", outcome.message or "it was denied"),)
    if outcome.reason is Reason.LIMIT and outcome.limit is not None:
        text = _LIMITS.get(outcome.limit, f"it ran into the limit {outcome.limit}")
        return (Fault(f"limit.{outcome.limit}", text.format(seconds=result.usage.wall)),)
    if outcome.reason is Reason.SIGNALED:
        text = f"it crashed with signal {outcome.signal} in the CAD kernel: build the shape another way"
        return (Fault("crashed", text),)
    if outcome.reason is not Reason.EXITED:
        return (Fault(str(outcome.reason), outcome.message or "it could not be run"),)
    if outcome.error is not None or outcome.exit_code:
        return (_raised(outcome),)
    if outcome.verdict is not None and outcome.verdict is not Verdict.PART:
        details = [part.message for part in result.parts if part.message]
        text = _VERDICTS[outcome.verdict] + (f" ({'; '.join(details[:2])})" if details else "")
        return (Fault(f"verdict.{outcome.verdict}", text),)
    part = measured(result)
    if part is None or part.facts is None:
        return (Fault("verdict.no_result", _VERDICTS[Verdict.NO_RESULT]),)
    return (*_several(result, checks), *checks.faults(part.facts))


def _several(result: RunResult, checks: Checks) -> tuple[Fault, ...]:
    """The parts beside the first, which alone is judged and delivered, if the number of solids is asked for."""
    others = [part.name for part in result.parts if part.verdict is Verdict.PART][1:]
    if not others or checks.solids is None:
        return ()
    return (Fault("parts", f"it gave {len(others) + 1} parts, not one shape: assign the one that is wanted to result"),)


def measured(result: RunResult) -> Part | None:
    """The part that counts: the first that is one."""
    return next((part for part in result.parts if part.verdict is Verdict.PART and part.facts is not None), None)


def _denied(outcome: Outcome, number: int) -> Fault:
    denial = outcome.denials[number]
    where = f"line {denial.line}: " if denial.line else ""
    shown = f" ({_line(denial.source_line)})" if denial.source_line else ""
    hint = f"; {denial.hint}" if denial.hint else ""
    return Fault(f"denied.{denial.code}", f"{where}{denial.message}{shown}{hint}")


def _raised(outcome: Outcome) -> Fault:
    error = outcome.error
    if error is None:
        return Fault("exit", f"it ended with status {outcome.exit_code}")
    where = f"line {error.line}: " if error.line else ""
    shown = f" ({_line(error.source_line)})" if error.source_line else ""
    hint = f"; {error.hint}" if error.hint else ""
    return Fault(f"raised.{error.type}", f"{where}{error.type}: {_line(error.message)}{shown}{hint}")


def account(found: tuple[Fault, ...], result: RunResult | None, *, repeated: bool) -> str:
    """A few lines, at most MOST_CHARACTERS: what is wrong, what was made, and whether it was tried before."""
    lines = [f"- {fault.message}" for fault in found]
    if result is not None:
        lines += [
            f"- note: {notice.message}" for notice in result.warnings if notice.code.startswith(("font", "result"))
        ]
        part = measured(result)
        if part is not None and part.facts is not None:
            lines.append(f"- what it made: {_facts(part.facts)}")
    if repeated:
        lines.append("- this is a script that failed before: change what is named above, do not send it again")
    text = "\n".join(lines)
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]} …"


def _facts(facts: Facts) -> str:
    x0, y0, z0, x1, y1, z1 = facts.bounding_box
    size = f"{x1 - x0:.6g} × {y1 - y0:.6g} × {z1 - z0:.6g} mm"
    return f"{size}, {facts.volume:.6g} mm³, {facts.solids} solids, {facts.faces} faces, {facts.holes} round holes"


def _line(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _LINE else f"{flat[:_LINE]} …"
