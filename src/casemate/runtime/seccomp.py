"""Compiles a named system call set to BPF with libseccomp, once for each process; the launcher loads the bytes.

A set is commented data (`profiles/syscalls/NAME.toml`). `[groups.*]`: calls that a trace of real jobs has seen.
`[kept.*]`: calls that none has, and that stay for the reason given. `[refused.*]`: what one has, in the words of
`casemate syscalls trace`, and what is refused all the same. `[arguments.*]`: a rule that a call has in this set in
place of the usual one. The rules, and what is the same for every set, stand in `syscall_rules`.

A call or an argument that is not in the set is EPERM, or an errno that callers take better (`syscall_rules.ANSWERS`).
A call of another architecture, or of x32, ends the process. Sources: seccomp(2), seccomp_rule_add(3).
"""

from __future__ import annotations

import base64
import errno
import functools
import tempfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

import pyseccomp

from casemate.errors import PolicyError
from casemate.runtime.syscall_rules import (
    ANSWERS,
    FAMILIES,
    INT,
    RULES,
    TERMINAL,
    VARIANTS,
    Alternatives,
    Match,
    sockets,
)


@dataclass(frozen=True, slots=True)
class Group:
    """Calls with the one reason for them; `kept` if no trace has seen them."""

    name: str
    why: str
    calls: tuple[str, ...]
    kept: bool


@dataclass(frozen=True, slots=True)
class CallSet:
    """A set as it is written."""

    name: str
    groups: tuple[Group, ...]
    refused: tuple[Group, ...]
    variants: Mapping[str, str]

    @property
    def calls(self) -> tuple[str, ...]:
        """Every call, in the file's order."""
        return tuple(call for group in self.groups for call in group.calls)

    def rule(self, call: str, *, unix: bool, inet: bool, pty: bool = False) -> Alternatives | None:
        """What the arguments of a call of the set may be; None: anything."""
        if call == "ioctl" and pty:
            return TERMINAL
        if call == "socket":
            return sockets(unix=unix, inet=inet)
        if call in self.variants:
            return VARIANTS[call, self.variants[call]]
        return RULES.get(call)


def shipped() -> tuple[str, ...]:
    """The names of the sets that there are."""
    directory = resources.files("casemate") / "profiles" / "syscalls"
    return tuple(sorted(file.name.removesuffix(".toml") for file in directory.iterdir() if file.name.endswith(".toml")))


def load(name: str) -> CallSet:
    """A set by its name; raises PolicyError for an unknown or malformed one."""
    file = resources.files("casemate") / "profiles" / "syscalls" / f"{name}.toml"
    if not name.replace("-", "").isalnum() or not file.is_file():
        raise PolicyError(f"no system call set named {name!r}")
    try:
        rows: dict[str, Any] = tomllib.loads(file.read_text("utf-8"))
        groups = (*_groups(rows["groups"], kept=False), *_groups(rows.get("kept", {}), kept=True))
        refused = _groups(rows.get("refused", {}), kept=False)
        variants = rows.get("arguments", {})
        found = CallSet(name, groups, refused, {call: row["rule"] for call, row in variants.items()})
        reasons = [group.why for group in (*groups, *refused)] + [row["why"] for row in variants.values()]
        faults = [] if all(reason.strip() for reason in reasons) else ["a group without a reason"]
        faults += _faults(found) + [f"{table}: no such table" for table in sorted(set(rows) - _TABLES)]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise PolicyError(f"system call set {name!r}: {error!r}") from None
    if faults:
        raise PolicyError(f"system call set {name!r}: {'; '.join(faults)}")
    return found


_TABLES = {"groups", "kept", "refused", "arguments"}


def _faults(found: CallSet) -> list[str]:
    calls = found.calls
    refused = [call for group in found.refused for call in group.calls]
    faults = [f"{call}: more than once" for call in sorted({call for call in calls if calls.count(call) > 1})]
    faults += [f"{call}: in it and refused" for call in refused if call in calls]
    faults += [f"{call}: no set may have it" for call in calls if call in ANSWERS]
    faults += [f"{group.name}: no calls" for group in (*found.groups, *found.refused) if not group.calls]
    faults += [
        f"{call}: no rule {rule!r}, or the call is not in the set"
        for call, rule in found.variants.items()
        if call not in calls or (call, rule) not in VARIANTS
    ]
    return faults if found.groups else ["no group"]


def _groups(rows: Mapping[str, Any], *, kept: bool) -> tuple[Group, ...]:
    return tuple(Group(name, row["why"], tuple(map(str, row["calls"])), kept) for name, row in rows.items())


@functools.cache
def compiled(name: str, *, unix: bool, inet: bool, pty: bool = False, traced: bool = False) -> str:
    """The BPF program of a set, base64, for this machine's architecture.

    `unix`, `inet`: whether sockets of AF_UNIX, and TCP ones, can be made, if the set has socket(2) at all. `pty`:
    whether terminals can be asked what they are asked (`syscall_rules.TERMINAL`). `traced`:
    a program that lets every call pass which would be EPERM, so that what a job needs can be seen; never for a job that
    nobody knows.
    """
    wanted = load(name)
    rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW if traced else pyseccomp.ERRNO(errno.EPERM))
    # libseccomp's own answer would end the thread only. It treats x32 numbers as another architecture.
    rules.set_attr(pyseccomp.Attr.ACT_BADARCH, pyseccomp.KILL_PROCESS)
    for call, answer in ANSWERS.items():
        rules.add_rule(pyseccomp.ERRNO(answer), call)
    families = sockets(unix=unix or traced, inet=inet) if "socket" in wanted.calls else ()
    _sockets(rules, families, traced=traced)
    for call in () if traced else wanted.calls:
        if call == "socket":
            continue
        alternatives = wanted.rule(call, unix=unix, inet=inet, pty=pty)
        if alternatives is None:
            rules.add_rule(pyseccomp.ALLOW, call)
        for matches in alternatives or ():
            rules.add_rule(pyseccomp.ALLOW, call, *map(_argument, matches))
    with tempfile.TemporaryFile() as file:
        rules.export_bpf(file)
        file.seek(0)
        return base64.b64encode(file.read()).decode("ascii")


def _sockets(rules: pyseccomp.SyscallFilter, alternatives: Alternatives, *, traced: bool) -> None:
    opened = {match.value for matches in alternatives for match in matches if match.index == 0}
    if not opened:
        rules.add_rule(pyseccomp.ERRNO(errno.EAFNOSUPPORT), "socket")
        return
    for family in set(range(FAMILIES)) - opened:
        rules.add_rule(pyseccomp.ERRNO(errno.EAFNOSUPPORT), "socket", _argument(Match(0, INT, family)))
    for matches in () if traced else alternatives:
        rules.add_rule(pyseccomp.ALLOW, "socket", *map(_argument, matches))


def _argument(match: Match) -> pyseccomp.Arg:
    return pyseccomp.Arg(match.index, pyseccomp.MASKED_EQ, match.mask, match.value)
