"""From what was seen to a verdict; pure.

A probe is held only if all of this is so: it ran to its end inside (its random word came out), it says that it was
refused, nothing was seen outside that should not be, and every instrument outside saw its control. What a probe says
can only make things worse: a claim of success is an open, silence is inconclusive.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from casemate.verify.model import Finding, Probe, Seen, Verdict

WITNESSES = {
    "canary": "random words that were put outside, looked for in all that came out of the sandbox",
    "log": "what listeners outside logged, each after a connection of our own to it was in the log",
    "look": "the guest in the host's /proc while it waited with all that it had got",
    "filter": "the filter as the kernel has it loaded for the guest, run over the call",
    "host": "the same thing read on the host",
    "outcome": "how the keeper saw it end, and its counters",
    "census": "processes and cgroups on the host, before and after",
    "victim": "the other sandbox: how it ended, what it saw",
    "next": "a later job that looks for what this one left",
}

BROKEN = frozenset(
    {
        "AssertionError", "AttributeError", "ImportError", "IndentationError", "IndexError", "KeyError",
        "ModuleNotFoundError", "NameError", "RecursionError", "SyntaxError", "TypeError", "UnboundLocalError",
        "UnicodeDecodeError", "UnicodeEncodeError", "ZeroDivisionError",
    }
)  # fmt: skip
"""What is raised by an attempt that is not one: it was refused by nobody."""


def verdict(seen: Seen) -> tuple[Verdict, str]:
    """The verdict and what it rests on."""
    if seen.effects:
        return Verdict.OPEN, "; ".join(seen.effects)
    if seen.claim:
        return Verdict.OPEN, f"the probe got: {seen.claim}"
    if not seen.answered:
        return Verdict.INCONCLUSIVE, seen.refusal or "the probe did not run to its end"
    if seen.refusal.partition(" ")[0] in BROKEN:
        return Verdict.INCONCLUSIVE, f"the probe itself is broken: {seen.refusal}"
    if seen.blind:
        return Verdict.INCONCLUSIVE, f"nothing outside could have seen it: {seen.blind}"
    return Verdict.HELD, seen.refusal or "nothing was seen outside"


def finding(probe: Probe, seen: Seen, not_held: Sequence[str] = ()) -> Finding:
    """The finding for a probe; an open that the profile names in `not_held` ("ROW: text") is declared."""
    result, evidence = verdict(seen)
    named = {text.partition(":")[0] for text in not_held}
    if result is Verdict.OPEN and named.intersection(probe.declared):
        result = Verdict.DECLARED_OPEN
    return Finding(probe.id, probe.family, probe.row, probe.what, result, probe.witness, printable(evidence)[:600])


def with_twin(held: Finding, twin: Finding | None, reason: str = "", *, beyond: bool = False) -> Finding:
    """The finding once its twin was tried; one whose attack did not work with the guard off proves nothing.

    `beyond`: it was tried with more than its guard off (guards.BEYOND).
    """
    if twin is not None and twin.verdict is Verdict.OPEN:
        return _replaced(held, held.verdict, held.evidence, "open beyond" if beyond else "open")
    why = reason or (f"{twin.verdict}: {twin.evidence}" if twin is not None else "it did not run")
    result = Verdict.INCONCLUSIVE if held.verdict is Verdict.HELD else held.verdict
    return _replaced(held, result, f"{held.evidence}; twin not shown to be open ({why})"[:900], "not shown")


def in_vm(held: Finding) -> Finding:
    """The finding of a probe whose twin is shown in a virtual machine only."""
    return _replaced(held, held.verdict, held.evidence, "vm")


def _replaced(old: Finding, result: Verdict, evidence: str, twin: str) -> Finding:
    return Finding(old.id, old.family, old.row, old.what, result, old.witness, evidence, twin)


def printable(text: str) -> str:
    """What came from a sandbox, in one line without control characters."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def counts(findings: Iterable[Finding]) -> dict[str, int]:
    """How many findings have each verdict."""
    found = dict.fromkeys((str(verdict) for verdict in Verdict), 0)
    for item in findings:
        found[item.verdict] += 1
    return found
