"""What a profile means to allow, which no probe can count against it; pure but for libseccomp's tables."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable

from casemate.launcher import syscalls
from casemate.policy import Profile
from casemate.runtime import surface
from casemate.verify.model import DEADLINE, Probe

CLOSED = "exited; refused EPERM,EROFS,EACCES,RuntimeError"
"""What must be seen of a road that a profile closes."""


def surface_of(profile: Profile) -> surface.Surface:
    """The system calls that it admits."""
    return surface.Surface(
        profile.kernel.syscalls, unix=profile.limits.sockets > 0, inet=profile.network.loopback == "up",
        pty=profile.devices.pty,
    )  # fmt: skip


def _admits_call(probe: Probe, profile: Profile) -> bool:
    name, *arguments = probe.trace.split()
    number = surface.numbers([name])[name]
    words = tuple(int(word, 0) for word in arguments)
    return number is not None and (
        surface.answer([surface_of(profile).program], os.uname().machine, number, words)[0] == surface.ALLOW
    )


ALLOWANCES: dict[str, Callable[[Probe, Profile], bool]] = {
    "set": _admits_call,
    "pty": lambda _, profile: profile.devices.pty,
    "masked": lambda _, profile: profile.proc.view == "masked",
    "executing": lambda _, profile: profile.filesystem.exec_writable,
    "alone": lambda _, profile: "futex" not in surface_of(profile).calls,
    "tree": lambda _, profile: profile.artifacts.inspection == "none",
    "landlock": lambda _, profile: profile.kernel.landlock != "required" and syscalls.landlock_abi() == 0,
}
"""set: its system call set admits the very call of the trace. tree: files are not named, all that is left is taken.
alone: there are no locks to wait for.
landlock: the kernel has none, and the profile does without it (`enforcement.degraded` tells)."""


def applies(probe: Probe, profile: Profile) -> bool:
    """False if the profile means to allow what is tried."""
    return not (probe.unless and ALLOWANCES[probe.unless](probe, profile))


def under(probe: Probe, profile: Profile) -> Probe:
    """The probe as it is for a profile, which may close its road, end it early, or have less of a limit anyway."""
    limits = tuple((name, min(value, getattr(profile.limits, name))) for name, value in probe.limits)
    missing = set(probe.needs) - {*surface_of(profile).calls, *profile.filesystem.writable} if probe.needs else set()
    if missing:
        # Landlock lets nobody make a named pipe either.
        guard = "read-only-tmp" if "/tmp" in missing else "execution" if "mknodat" in missing else "seccomp"
        return dataclasses.replace(
            probe, code=f"closed_road({probe.code!r})", expect=CLOSED, twin=guard, deadline=DEADLINE, limits=limits
        )
    if probe.killed and profile.limits.output_overflow == "kill":
        return dataclasses.replace(probe, expect=probe.killed, limits=limits)
    return dataclasses.replace(probe, limits=limits)
