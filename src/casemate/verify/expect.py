"""What must have been seen of a whole job, word by word; each check gives what is wrong, or "". Pure.

limit NAME     it ended by this limit         exited          it ended by itself
signaled N     by this signal                 cancelled       because we said so
memory N       peak of the cgroup, bytes      tasks N         most tasks at once
stdout N       bytes kept, at most            stderr N        the same
counted N      bytes counted on stdout, at least
never WORD     not in the output              refused A,B     the answer is one of these refusals
untaken A|B    no file came out, and one of these texts says why
counter NAME   this refusing limit was met, as seen outside
lasted S       seconds of wall clock          cpu S           seconds of CPU time, of all processes
"""

from __future__ import annotations

from casemate.model import Limit, Reason, RunResult

SLACK = 8 << 20
"""Bytes by which a peak may be above a limit: what the kernel charges in batches for each core."""
UNSEEN = "no counter outside tells"


def violations(expect: str, result: RunResult, refusal: str) -> tuple[list[str], str]:
    """What is wrong, and why an instrument could not tell ("" if all could)."""
    found, blind = [], ""
    for clause in expect.split(";"):
        word, _, value = clause.strip().partition(" ")
        told = _check(word, value, result, refusal)
        if told == UNSEEN:
            # Where the profile permits the controllers to be missing, how it ended and what it was told must do.
            missing = any(name.startswith("cgroup-") for name in result.enforcement.degraded)
            blind = blind if missing else f"{UNSEEN} {word}"
        elif told:
            found.append(told)
    return found, blind


def certain(expect: str, result: RunResult) -> bool:
    """True if how the keeper ended it is itself the answer."""
    ends = [
        clause.split() for clause in expect.split(";") if clause.strip().startswith(("limit", "signaled", "cancelled"))
    ]
    return any(not _check(words[0], " ".join(words[1:]), result, "") for words in ends)


def _check(word: str, value: str, result: RunResult, refusal: str) -> str:
    outcome = result.outcome
    ended = f"it ended as {outcome.reason} {outcome.limit or outcome.signal or outcome.exit_code}"
    if word == "limit":
        return "" if outcome.reason is Reason.LIMIT and outcome.limit == Limit(value) else f"{ended}, not by {value}"
    if word in ("exited", "cancelled"):
        return "" if outcome.reason == Reason(word) else f"{ended}, not {word}"
    if word == "signaled":
        return "" if (outcome.reason, outcome.signal) == (Reason.SIGNALED, int(value)) else f"{ended}, not by {value}"
    if word == "refused":
        return "" if refusal.split(" ")[0] in value.split(",") else f"refused as {refusal or 'nothing'}, not {value}"
    if word == "never":
        output = result.stdout.text + result.stderr.text
        return f"{value} is in its output" if value in output else ""
    if word == "untaken":
        return _taken(result, value.split("|"))
    if word == "counter":
        refused = result.usage.refused
        return "" if value in refused else f"{value} was not met, as seen outside: {refused}"
    return _measured(word, value, result)


def _taken(result: RunResult, reasons: list[str]) -> str:
    if result.artifacts:
        return f"{', '.join(result.artifacts)} came out"
    told = "; ".join([result.outcome.message, *(notice.message for notice in result.warnings)])
    return "" if any(reason in told for reason in reasons) else f"nothing says {' or '.join(reasons)}: {told}"


def _measured(word: str, value: str, result: RunResult) -> str:
    usage = result.usage
    measured: dict[str, tuple[float | None, float]] = {
        "memory": (usage.memory_peak, SLACK), "tasks": (usage.processes_peak, 2), "lasted": (usage.wall, 0),
        "cpu": (usage.cpu, 0), "stdout": (len(result.stdout.data), 0), "stderr": (len(result.stderr.data), 0),
    }  # fmt: skip
    if word == "counted":
        return "" if result.stdout.total >= int(value) else f"{result.stdout.total} bytes were counted, not {value}"
    seen, slack = measured[word]
    if seen is None:
        return UNSEEN
    return f"{word} was {seen}, above {value}" if seen > float(value) + slack else ""
