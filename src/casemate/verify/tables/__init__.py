"""What is tried, a table for each family, each of which says how many probes it must have at least (MINIMUM)."""

from __future__ import annotations

from collections.abc import Iterable

from casemate.errors import PolicyError
from casemate.launcher import syscalls
from casemate.policy import Profile
from casemate.verify.admitted import applies, under
from casemate.verify.model import Probe
from casemate.verify.tables import (
    artifacts,
    control,
    descriptors,
    disk,
    environment,
    files,
    identity,
    kernel,
    memory,
    neighbours,
    network,
    output,
    proc,
    processes,
    recovery,
    time,
)  # fmt: skip

_FAMILIES = {
    "proc": proc, "environment": environment, "files": files, "descriptors": descriptors, "identity": identity,
    "kernel": kernel, "network": network, "processes": processes, "memory": memory, "disk": disk, "time": time,
    "output": output, "artifacts": artifacts, "control": control, "neighbours": neighbours, "recovery": recovery,
}  # fmt: skip
PROBES: tuple[Probe, ...] = tuple(probe for module in _FAMILIES.values() for probe in module.PROBES)
MINIMUM: dict[str, int] = {name: module.MINIMUM for name, module in _FAMILIES.items()} | {
    "tenants": neighbours.TENANTS_MINIMUM
}
TOTAL = 250
SCOPES = 6
"""The Landlock ABI from which a process can be kept from signalling others of its uid (landlock(7))."""
EFFECT_FREE = ("proc", "environment", "files", "descriptors", "identity", "kernel", "network", "control")
"""Families that use nothing up and touch no other sandbox, together named `effect-free`: what a service can run when it
starts, and while it serves."""
SYSCALLS = kernel.NAMED


def selected(only: Iterable[str], profile: Profile, *, root: bool) -> tuple[Probe, ...]:
    """Probes by id or family, or `effect-free`; all of them if nothing is named. Raises PolicyError for another name.

    Left out is what the profile means to allow, among what a profile may; and, for a user other than root, what only a
    second uid can hold, or the scopes of Landlock where the kernel has them.
    """
    wanted = tuple(each for name in only for each in (EFFECT_FREE if name == "effect-free" else (name,)))
    known = {probe.id for probe in PROBES} | {probe.family for probe in PROBES}
    if unknown := [name for name in wanted if name not in known]:
        raise PolicyError(f"no such probe or family: {', '.join(unknown)}")
    left_out = frozenset() if root else identity.AS_ROOT | neighbours.AS_ROOT | control.AS_ROOT
    if not root and syscalls.landlock_abi() < SCOPES:
        left_out |= proc.UNSCOPED
    named = (p for p in PROBES if not wanted or p.id in wanted or p.family in wanted)
    return tuple(under(p, profile) for p in named if p.id not in left_out and applies(p, profile))
