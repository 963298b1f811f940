"""Probes that answer one after the other in one sandbox, which is then looked at from outside while it waits."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from casemate.launcher import syscalls
from casemate.model import Outcome, Reason, RunResult
from casemate.runtime import surface
from casemate.verify import look
from casemate.verify.model import Probe, Seen
from casemate.verify.source import END, Source, answers, assemble

if TYPE_CHECKING:
    from casemate.verify.stage import Stage

NUMBERS = 1024
"""Above the highest number of any call."""
_LOOKING = ("look", "filter", "host")


def answers_batch(*helpers: str) -> Callable[[Stage, tuple[Probe, ...]], dict[str, Seen]]:
    """A scenario of this kind, whose expressions use `probes/HELPER.py`."""

    def scenario(stage: Stage, probes: tuple[Probe, ...]) -> dict[str, Seen]:
        if len(probes) > 1 and _size(stage, probes, helpers) > stage.most_source:
            middle = len(probes) // 2
            return scenario(stage, probes[:middle]) | scenario(stage, probes[middle:])
        looking = any(probe.witness in _LOOKING for probe in probes)
        source = assemble(probes, helpers, stage.values(), look=looking)
        seen: dict[str, str] = {}
        looked: list[str] = []

        def examine(pid: int) -> None:
            seen.update(_examine(pid, probes, stage))
            looked.append("yes")

        result = stage.run_and_look(source, examine) if looking else stage.run(source.text)
        blind = {"log": stage.impostors.control(), "canary": _readable(stage)}
        if not looked:
            blind |= dict.fromkeys(_LOOKING, "nobody could look at the guest from outside")
        return gathered(stage, probes, source, result, seen, blind)

    return scenario


def _size(stage: Stage, probes: tuple[Probe, ...], helpers: tuple[str, ...]) -> int:
    return len(assemble(probes, helpers, stage.values()).text)


def _readable(stage: Stage) -> str:
    """Whether the canaries are where they were put, and can be read there."""
    lost = [str(p.file) for p in stage.canaries.places if not p.file.is_file() or p.file.read_text() != p.secret]
    return f"{', '.join(lost)} cannot be read on the host" if lost or not stage.canaries.places else ""


def _examine(pid: int, probes: tuple[Probe, ...], stage: Stage) -> dict[str, str]:
    """What the guest shows of each probe's trace, "" where it shows nothing."""
    taken = look.take(pid)
    filters = _loaded(taken, stage)
    found: dict[str, str] = {}
    for probe in probes:
        if probe.witness == "look":
            found[probe.id] = taken.shows(probe.trace, stage.limits())
        elif probe.witness == "host":
            there = _shows(f"/proc/{pid}/root{probe.trace}")
            found[probe.id] = f"{probe.trace} is there, seen from the host" if there else ""
        elif probe.witness == "filter":
            found[probe.id] = _through(filters, probe.trace, stage)
    return found


def _shows(path: str) -> bool:
    """Whether there is something; the null device, an empty directory and a link beside it that leads nowhere are none.

    Those mask what a profile does not show, and are where another one shows something.
    """
    if not os.path.lexists(path):
        return False
    if os.path.islink(path) and not os.readlink(path).startswith("/"):
        return os.path.exists(path)
    with contextlib.suppress(OSError):
        seen = os.lstat(path)
        if stat.S_ISDIR(seen.st_mode):
            return bool(os.listdir(path))
        return not (stat.S_ISCHR(seen.st_mode) and seen.st_rdev == os.makedev(1, 3))
    return True


def _loaded(guest: look.Look, stage: Stage) -> list[bytes]:
    """The guest's filters as the kernel has them; where only the host's root may ask, those that it was given.

    In the second case the kernel has told at least that there is one.
    """
    if guest.status.get("Seccomp") != "2":
        return []
    try:
        return syscalls.seccomp_filters(guest.pid)
    except PermissionError:
        return [stage.surface.program]


def _through(filters: list[bytes], trace: str, stage: Stage) -> str:
    """ "NAME ARGUMENT…" run through the filters, or every number of an entry."""
    if trace.startswith("every "):
        return _every(filters, trace.removeprefix("every "), stage)
    name, *arguments = trace.split()
    number = surface.numbers([name])[name]
    if number is None:
        return ""
    action, _ = surface.answer(filters, stage.machine, number, tuple(int(word, 0) for word in arguments))
    return f"the loaded filter lets {trace} through" if action == surface.ALLOW else ""


def _every(filters: list[bytes], entry: str, stage: Stage) -> str:
    """Numbers that get through beyond the set, or that another entry gets anywhere but killed."""
    if entry == "number":
        allowed = stage.surface.numbers
        odd = [n for n in range(NUMBERS) if n not in allowed and _says(filters, stage.machine, n) == surface.ALLOW]
    elif entry == "x32":
        odd = [n for n in range(NUMBERS) if _says(filters, stage.machine, 0x40000000 | n) != surface.KILL]
    else:
        odd = [n for n in range(NUMBERS) if _says(filters, "i386", n) != surface.KILL]
    return f"the loaded filter lets {len(odd)} numbers through: {odd[:10]}" if odd else ""


def _says(filters: list[bytes], machine: str, number: int) -> str:
    return surface.answer(filters, machine, number)[0]


def told(outcome: Outcome) -> str:
    """How a job ended, in a few words."""
    words = [outcome.reason, outcome.limit, outcome.exit_code, outcome.signal, outcome.message]
    return " ".join(str(word) for word in words if word not in (None, ""))


def gathered(
    stage: Stage, probes: tuple[Probe, ...], source: Source, result: RunResult, seen: dict[str, str],
    blind: dict[str, str],
) -> dict[str, Seen]:  # fmt: skip
    """What there is to judge each probe by, from its answer and from all that was seen outside."""
    output = result.stdout.text
    given = answers(output, source.nonces)
    complete = END in given and result.outcome.reason is Reason.EXITED
    ended = "" if complete else f"the job ended before its end: {told(result.outcome)}; {result.stderr.text[-300:]}"
    changes = [change for place in stage.canaries.places for change in place.changes()] + stage.canaries.called()
    changing = [probe for probe in probes if probe.witness == "canary" and probe.trace == "write"]
    found = {}
    for probe in probes:
        answer = given.get(probe.id)
        effects: list[str] = []
        if answer is not None:
            effects += stage.canaries.shown(str(answer))
        if stage.impostors.saw(source.nonces[probe.id]):
            effects.append("its word reached a listener outside")
        if probe in changing and stage.counts(changing):
            effects += changes
        if seen.get(probe.id):
            effects.append(seen[probe.id])
        if probe.witness == "host" and answer is not None and _as_on_host(probe, answer):
            effects.append(f"what it read is what {probe.trace} holds on the host")
        claim = answer.get("got", "") if answer else ""
        refusal = f"{answer.get('refused', '')} {answer.get('detail', '')}".strip() if answer else ended
        found[probe.id] = Seen(answer is not None, claim, refusal, tuple(effects), blind.get(probe.witness, ""))
    return found


def _as_on_host(probe: Probe, answer: dict[str, str]) -> bool:
    if not answer.get("got") or not probe.trace.startswith(("/proc/", "/etc/")) or not os.path.isfile(probe.trace):
        return False
    with contextlib.suppress(OSError):
        ours = Path(probe.trace).read_text("latin-1")[:40]
        return len(ours) > 8 and ours in answer.get("got", "")
    return False
