"""Runs jobs while their system calls are recorded, and says what a set lacks and what no job needs.

For jobs that are known: their filter refuses next to nothing, else what comes after a refused call would not be seen.
The other walls stand."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from casemate.control import runs
from casemate.control.host import Host
from casemate.model import Reason
from casemate.runtime import seccomp, tracing
from casemate.runtime.syscall_rules import ANSWERS, RULES, VARIANTS, permits

_WORDS = {
    **{call: tuple(sorted({m.index for matches in rule for m in matches})) for call, rule in RULES.items()},
    **{call: tuple(sorted({m.index for matches in rule for m in matches})) for (call, _), rule in VARIANTS.items()},
    "mmap": (2, 3),
    "socket": (0, 1, 2),
}
"""Which argument words of a call are recorded: those that a rule reads."""


@dataclass(frozen=True, slots=True)
class Trace:
    """What jobs did once their filter was loaded."""

    jobs: Mapping[str, str]
    """Job → how it ended."""
    calls: Mapping[str, tuple[str, ...]]
    """Call → jobs that made it, in order."""
    words: Mapping[str, tuple[tuple[int, ...], ...]]
    """Call with a rule → the words seen, in the order of `positions`."""

    def lacking(self, wanted: seccomp.CallSet, *, unix: bool, inet: bool, pty: bool) -> list[str]:
        """Calls that the set has not, and argument words that it would refuse, but for what it names as refused."""
        missing = [call for call in self.calls if call not in wanted.calls and call not in (*ANSWERS, "socket")]
        for call, seen in self.words.items():
            rule = wanted.rule(call, unix=unix, inet=inet, pty=pty)
            if call not in wanted.calls or call == "socket" or rule is None:
                continue
            for values in seen:
                arguments = dict(zip(positions(call), values, strict=True))
                if not permits(rule, [arguments.get(index, 0) for index in range(6)]):
                    missing.append(f"{call}({', '.join(f'{i}: {v:#x}' for i, v in arguments.items())})")
        refused = {call for group in wanted.refused for call in group.calls}
        return [call for call in missing if call not in refused]

    def unneeded(self, wanted: seccomp.CallSet) -> list[str]:
        """Calls that the set has, that no job made, and that it does not keep for a reason of their own."""
        return [call for group in wanted.groups if not group.kept for call in group.calls if call not in self.calls]

    def needed(self, wanted: seccomp.CallSet) -> list[str]:
        """Calls that the set keeps without a trace, although there is one."""
        return [call for group in wanted.groups if group.kept for call in group.calls if call in self.calls]


def positions(call: str) -> tuple[int, ...]:
    """The argument words that are recorded of a call."""
    return _WORDS.get(call, ())


def trace(
    host: Host, jobs: Sequence[Path], name: str, profile: str, progress: Callable[[str], None] = lambda _: None
) -> Trace:
    """Run every job under a profile with this set's name, one after the other, in real sandboxes.

    The Host must keep no stock: what a sandbox did ahead of its job would be taken for the job before it.
    """
    ended: dict[str, str] = {}
    calls: dict[str, list[str]] = {}
    words: dict[str, set[tuple[int, ...]]] = {}
    request = _request(host, b"", name, profile)
    host.ground(request)
    assert host.keeper_pid is not None
    with tracing.recorded(tracing.below(host.keeper_pid)) as recorder:
        for job in jobs:
            label = f"{job.parent.name}/{job.name}"
            progress(label)
            ended[label] = _run(host, _request(host, job.read_bytes(), name, profile))
            for call, arguments in recorder.since():
                calls.setdefault(call, [])
                if label not in calls[call]:
                    calls[call].append(label)
                if _WORDS.get(call):
                    words.setdefault(call, set()).add(
                        tuple(arguments[index] & 0xFFFFFFFFFFFFFFFF for index in _WORDS[call])
                    )
    return Trace(
        ended,
        {call: tuple(calls[call]) for call in sorted(calls)},
        {call: tuple(sorted(words[call])) for call in sorted(words)},
    )


def _run(host: Host, request: runs.Request) -> str:
    """With the gate, if the job passes it."""
    for gate in (True, False) if request.gate else (False,):
        result = host.execute(dataclasses.replace(request, gate=gate), runs.Cancellation(), lambda _: None)
        if result.outcome.reason is not Reason.POLICY:
            break
    outcome = result.outcome
    words = [str(outcome.reason), str(outcome.exit_code if outcome.signal is None else outcome.signal)]
    return " ".join([*words, *([str(outcome.verdict)] if outcome.verdict else [])])


def _request(host: Host, source: bytes, name: str, profile: str) -> runs.Request:
    """As the profile has it; under a CAD profile another set's jobs run without gate and CAD libraries."""
    request = host.request(source, profile, None, None, "local", "local", gate=name == "cad")
    template = request.template if request.program or name == "cad" else "light"
    rows = request.plan.profile
    changed = rows.model_copy(update={"kernel": rows.kernel.model_copy(update={"syscalls": name})})
    plan = dataclasses.replace(request.plan, profile=changed)
    return dataclasses.replace(request, plan=plan, template=template, traced=True)
