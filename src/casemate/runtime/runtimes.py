"""OCI runtimes on this host: where they are, what they call themselves, and the filter that a room gets from them.

Only system directories are searched, or an executable is named. One that somebody else could replace is not used: it
must be a regular file of root's or of ours that nobody else may write, in a directory of which the same is true.
"""

from __future__ import annotations

import functools
import json
import os
import platform
import shutil
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from casemate.errors import SandboxFault
from casemate.launcher import spec
from casemate.runtime import capacity, process, seccomp
from casemate.runtime.syscall_rules import ANSWERS

EXECUTABLES: Mapping[str, str] = {"crun": "crun", "runc": "runc", "runsc": "runsc", "kata": "kata-runtime"}
SEARCH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/kata/bin"
VERSION_SECONDS = 5.0
NATIVE = spec.Outer("native", "", "", "")
_ARCHITECTURES = {"x86_64": "SCMP_ARCH_X86_64", "aarch64": "SCMP_ARCH_AARCH64"}


@dataclass(frozen=True, slots=True)
class Found:
    """A runtime by its name in a profile; `reason` is "" if it can be used, else why not, with the remedy."""

    name: str
    command: str
    version: str
    """The first line that it prints of itself."""
    reason: str


def find(name: str, command: Path | None = None) -> Found:
    """Look for a runtime and ask it for its version; `command` is its executable, None: search for it."""
    executable = EXECUTABLES[name]
    path = shutil.which(executable, path=SEARCH) if command is None else str(command)
    if path is None:
        why = f"no {executable} in {SEARCH.replace(':', ', ')}; remedy: install it (docs/runtimes.md)"
        return Found(name, "", "", why)
    resolved = os.path.realpath(path)
    try:
        _require_safe(resolved)
        printed = process.run_tool([resolved, "--version"], env={"PATH": "/usr/bin:/bin"}, timeout=VERSION_SECONDS)
    except (OSError, SandboxFault) as error:
        capacity.require(error.__cause__ or error)
        return Found(name, resolved, "", f"{error}; remedy: mend or replace {resolved}")
    version = printed.stdout.decode("utf-8", "replace").strip().partition("\n")[0][:200]
    return Found(name, resolved, version, "" if version else f"{resolved} does not say its version")


def _require_safe(path: str) -> None:
    seen, around = os.stat(path), os.stat(os.path.dirname(path))
    if not stat.S_ISREG(seen.st_mode):
        raise OSError(f"{path} is not a regular file")
    for one, what in ((seen, path), (around, os.path.dirname(path))):
        if one.st_uid not in (0, os.geteuid()) or one.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            mode = f"owner {one.st_uid}, mode {stat.S_IMODE(one.st_mode):04o}"
            raise OSError(f"{what} could be replaced by another user ({mode})")


def outer(found: Found) -> spec.Outer:
    """What the keeper is told of a usable runtime."""
    return spec.Outer(found.name, found.command, found.version, room_filter())


def room_calls() -> tuple[str, ...]:
    """Every call that a process of a room may make: those of each guest's set, and the room's own."""
    file = resources.files("casemate") / "profiles" / "outer" / "calls.toml"
    groups = tomllib.loads(file.read_text("utf-8"))["groups"]
    own = [str(call) for group in groups.values() for call in group["calls"]]
    guests = [call for name in seccomp.shipped() for call in seccomp.load(name).calls]
    return tuple(sorted({*own, *guests}))


@functools.cache
def room_filter() -> str:
    """The room's filter as `linux.seccomp` of a bundle, JSON: a call that is not in `room_calls` is EPERM."""
    architecture = _ARCHITECTURES.get(platform.machine())
    if architecture is None:
        raise SandboxFault(f"no filter for rooms on {platform.machine()}")
    answers = [
        {"names": [call], "action": "SCMP_ACT_ERRNO", "errnoRet": answer} for call, answer in sorted(ANSWERS.items())
    ]
    allowed = {"names": list(room_calls()), "action": "SCMP_ACT_ALLOW"}
    return json.dumps(
        {"defaultAction": "SCMP_ACT_ERRNO", "architectures": [architecture], "syscalls": [allowed, *answers]}
    )
