"""Where attacks run that nothing else would stop: a process of its own below a cgroup that is made around it.

    fence     cgroup limits around a program; everything in it is killed at the end
    harness   the same, and user, pid, mount, network, ipc and uts namespaces without a way out (enclose.py)

The cgroup is made before, and outside of, whatever is being removed: below the group this process is in, never at a
hierarchy's root. Without the controllers there is no harness, and nothing runs.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from casemate.control.places import default_state
from casemate.errors import SandboxFault
from casemate.launcher import cgroups, claims
from casemate.launcher.usermaps import Extent
from casemate.runtime.connection import UID_RANGE

PACKAGE = Path(__file__).parents[1]
END_TIMEOUT = 30.0


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of a fence: bytes, tasks, cores."""

    memory: int = 2 << 30
    tasks: int = 512
    cpus: float = 1.0


Process = subprocess.Popen[str]
"""A started program, its output in pipes."""


@dataclass(frozen=True, slots=True)
class Started:
    """A started stage: its findings come on the pipe, what it complains of goes into a file."""

    process: Process
    errors: IO[str]

    def complaint(self) -> str:
        """The end of what it complained of."""
        self.errors.seek(0)
        return self.errors.read()[-2000:].strip()


class NoHarness(SandboxFault):
    """No cgroup can be made here around what is to be attacked."""


BLIND = (
    "launcher/outside.py",
    "    for name in _EMPTY:",
    '    return spec.Layer("keeper.outside", False, ""), set()\n    for name in _EMPTY:',
)
"""An edit that takes the keeper's look from outside away."""
SHIFTED = (
    "runtime/images.py",
    "    if status.st_uid not in (0, os.geteuid()) or",
    "    if status.st_uid not in (0, os.geteuid(), 65534) or",
)
"""An edit without which no image is taken where root's files are nobody's: the harness has no uid of the host's."""


def weakened(directory: Path, edits: Sequence[tuple[str, str, str]]) -> Path:
    """A copy of the package below `directory` with edits, each of which must match exactly once."""
    package = directory / "casemate"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    for name, old, new in edits:
        file = package / name
        text = file.read_text("utf-8")
        if text.count(old) != 1:
            raise SandboxFault(f"{name}: an edit matches {text.count(old)} times: {old!r}")
        file.write_text(text.replace(old, new), "utf-8")
    return package


_ENTER = """
import os, sys
for fd in sys.argv[1].split(","):
    os.write(int(fd), b"0")
    os.close(int(fd))
os.execv(sys.argv[2], sys.argv[2:])
"""


@contextlib.contextmanager
def _made(bounds: Bounds) -> Iterator[cgroups.Group]:
    """A group of ours below the caller's; everything in it is killed, and it is removed, at the end.

    If we are killed before, the next keeper does that, as for a keeper's own (launcher/claims.py).
    """
    found, name = cgroups.survey(), f"casemate-verify-{os.getpid()}-{secrets.randbits(48)}"
    if found.missing:
        raise NoHarness("no cgroup can be made around an attack: memory, pids and cpu controllers are needed")
    try:
        state = claims.State(str(default_state()))
        claim = state.keeper(name, cgroups.keeper_directories(found, name))
    except (OSError, claims.NoClaim) as error:
        raise NoHarness(f"what is made around an attack cannot be recorded: {error}") from None
    try:
        outer = cgroups.keeper_group(found, name)
        assert outer is not None
        try:
            inner = outer.child("all")
            inner.delegate()
            inner.limit(memory=bounds.memory, processes=bounds.tasks, cpus=bounds.cpus)
            yield inner
        finally:
            _empty(outer)
            state.release_keeper(name)
    finally:
        os.close(claim)


def _empty(group: cgroups.Group) -> None:
    deadline = time.monotonic() + END_TIMEOUT
    while not group.remove():
        group.kill()
        if time.monotonic() > deadline:
            raise SandboxFault(f"still in the harness: {group.members()}")
        time.sleep(0.005)


@contextlib.contextmanager
def fence(argv: Sequence[str], env: Mapping[str, str], bounds: Bounds) -> Iterator[tuple[Process, cgroups.Group]]:
    """Start a program under a new cgroup, its output in pipes."""
    with _made(bounds) as group:
        procs = group.open_procs()
        try:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _ENTER, ",".join(map(str, procs)), *argv],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                pass_fds=procs, env=dict(env),
            )  # fmt: skip
        finally:
            for fd in procs:
                os.close(fd)
        try:
            yield process, group
        finally:
            _end(process)


def _end(process: Process) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
    process.wait(END_TIMEOUT)
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


# The launcher's own modules without our __init__, which would start with the whole library.
_ENCLOSE = """
import sys, types
package = types.ModuleType("casemate")
package.__path__ = [sys.argv[1]]
sys.modules["casemate"] = package
zone = types.ModuleType("casemate.verify")
zone.__path__ = [sys.argv[1] + "/verify"]
sys.modules["casemate.verify"] = zone
from casemate.verify import enclose
enclose.main(sys.argv[2])
"""


@contextlib.contextmanager
def harness(
    module: str,
    arguments: Sequence[str],
    package: Path,
    env: Mapping[str, str],
    bounds: Bounds | None,
    expose: Sequence[Path],
) -> Iterator[Started]:
    """Start `python -m MODULE ARGUMENTS` of a copied package in the harness.

    `expose` are paths that it must see although a directory above them is private or covered.
    """
    with contextlib.ExitStack() as stack:
        maps: list[list[int]] = []
        if os.geteuid() == 0:
            state = claims.State(str(default_state()))
            extents = [Extent(0, 0)]
            for _ in range(2):  # a stage has two keepers
                block, count = state.uids(*UID_RANGE)
                extents.append(Extent(UID_RANGE[0] + (len(extents) - 1) * count, block, count))
            maps = [[extent.inside, extent.outside, extent.count] for extent in extents]
        # Without bounds only for what has nothing taken out; its keeper needs a group that is divided already.
        if bounds is None:
            cgroups.divide(cgroups.survey())
        procs = stack.enter_context(_made(bounds)).open_procs() if bounds is not None else ()
        shown = [Path(sys.base_prefix), package, *expose, *(Path(p) for p in sys.path if p and os.path.isdir(p))]
        order = {
            "procs": procs, "maps": maps, "expose": sorted({str(path.resolve()) for path in shown}),
            "argv": [os.path.realpath(sys.executable), "-P", "-m", module, *arguments],
            "path": ":".join([str(package.parent), *(p for p in sys.path if p and os.path.isdir(p))]),
        }  # fmt: skip
        try:
            errors = stack.enter_context(tempfile.TemporaryFile("w+"))
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-B", "-c", _ENCLOSE, str(PACKAGE), json.dumps(order)],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True,
                pass_fds=procs, env=dict(env),
            )  # fmt: skip
        finally:
            for fd in procs:
                os.close(fd)
        try:
            yield Started(process, errors)
        finally:
            _end(process)


@contextlib.contextmanager
def plain(module: str, arguments: Sequence[str], env: Mapping[str, str], package: Path = PACKAGE) -> Iterator[Started]:
    """Start `python -m MODULE ARGUMENTS` with nothing around it: our own package, or (in a VM) a copy."""
    path = ":".join([str(package.parent), *(p for p in sys.path if p and os.path.isdir(p))])
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", module, *arguments],  # nothing of the directory that we are in
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True,
            env={**env, "PYTHONPATH": path},
            start_new_session=True,  # an interrupt comes from us, and once, so that it can clean up
        )  # fmt: skip
        try:
            yield Started(process, errors)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(20)
            _end(process)
