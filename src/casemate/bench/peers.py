"""Other sandboxes beside ours: an empty Python job in bubblewrap, nsjail, crun, runc and podman, where installed.

All five get comparable walls: new user, mount, pid, net, ipc, uts and cgroup namespaces, no network but loopback, the
same read-only root (`commands.Layout`), no capabilities, no_new_privs, an environment of little more than PATH, and
bounds of memory and processes where the tool sets any. Only podman, which brings one, has a system-call filter.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import shutil
import subprocess
import tempfile
import uuid
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from casemate.bench import commands
from casemate.bench.commands import Job
from casemate.errors import SandboxFault
from casemate.runtime.process import run_tool

EMPTY = ("-c", "pass")
"""Arguments of the interpreter that every contender runs."""


@dataclass(frozen=True, slots=True)
class Peer:
    """Another sandbox, installed or not."""

    name: str
    version: str
    """As the tool says it; "" if it is not there or does not tell (nsjail)."""
    command: str
    """Its executable, "" if it is not there."""
    argv: Callable[[str, Job], list[str]]
    """The command line of one run, from the executable and the job."""
    bounds: bool
    """Whether the tool can bound memory and processes at all."""
    reason: str
    """Why it cannot be tried, "" if it can."""


_KINDS: tuple[tuple[str, str, Callable[[str, Job], list[str]], bool], ...] = (
    ("bubblewrap", "bwrap", commands.bubblewrap, False),
    ("nsjail", "nsjail", commands.nsjail, True),
    ("crun", "crun", commands.crun, True),
    ("runc", "runc", commands.runc, True),
    ("podman", "podman", commands.podman, True),
)
_BUNDLED = ("crun", "runc")


def peers(search: str | None = None) -> list[Peer]:
    """All five; `search` is where to look, written like PATH (None: the PATH of this process)."""
    found = []
    for name, command, argv, bounds in _KINDS:
        path = shutil.which(command, path=search)
        reason = "" if path else f"not installed: no {command} on PATH"
        version = _version(path) if path else ""
        found.append(Peer(name, version, os.path.abspath(path) if path else "", argv, bounds, reason))
    return found


def _version(command: str) -> str:
    try:
        printed = run_tool([command, "--version"], env={"PATH": commands.PATH, "HOME": "/"}, timeout=30.0).stdout
    except SandboxFault:
        return ""
    found = re.search(r"\d+(\.\d+)+\S*", printed.decode("utf-8", "replace"))
    return found[0] if found else ""


@dataclass(frozen=True, slots=True)
class Ran:
    """One run of a tool: exit status (negative: a signal), duration in seconds, the last 16 KiB of each stream."""

    status: int
    seconds: float
    stdout: str
    stderr: str

    @property
    def said(self) -> str:
        """The last line of its error output."""
        lines = [line.strip() for line in self.stderr.splitlines() if line.strip()]
        return re.sub(r"\x1b\[[0-9;]*m", "", lines[-1]) if lines else f"status {self.status}"


class Stage:
    """The process that starts the peers (`bench/stage.py`); ends when it is closed, collected, or we end."""

    def __init__(self) -> None:
        self.group = f"casemate-bench-{uuid.uuid4().hex[:12]}"
        self.path = Path(
            tempfile.mkdtemp(prefix="casemate-bench-", dir="/tmp")
        )  # a short one: podman bounds its runroot
        """The directory for what peers need on disk, as they see it."""
        own = ["unshare", "--mount", "--cgroup", "--propagation", "private"]
        program = [*commands.interpreter(("-I", "-S", "-B")), str(Path(__file__).with_name("stage.py"))]
        try:
            self._process = subprocess.Popen(
                [*own, *([] if os.geteuid() == 0 else ["--map-root-user"]), *program, str(self.path), self.group],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={"PATH": commands.PATH},
                text=True,
                start_new_session=True,  # an interrupt is for us: it ends by end of file, and takes its groups along
            )
        except OSError as error:
            self.path.rmdir()
            raise SandboxFault(f"unshare cannot be started: {error.strerror}") from error
        self.close = weakref.finalize(self, _end, self._process, self.path)
        first = self._answer()
        if "error" in first:
            self.close()
            raise SandboxFault(f"no mounts in a namespace of our own: {first['error']}")

    @property
    def files(self) -> Path:
        """The same directory as seen from here, through the namespace of that process (proc_pid_root(5))."""
        return Path(f"/proc/{self._process.pid}/root{self.path}")

    def run(self, argv: Sequence[str], env: Mapping[str, str]) -> Ran:
        """Run a tool to its end; raises SandboxFault if the stage is gone."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"argv": list(argv), "env": dict(env)}) + "\n")
            self._process.stdin.flush()
            return Ran(**self._answer())
        except OSError as error:
            raise SandboxFault(f"the peers' stage is gone: {error.strerror}") from error
        except BaseException:
            self.close()  # the next answer would be this one's
            raise

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        line = self._process.stdout.readline()
        if not line:
            raise SandboxFault(f"the peers' stage ended: {self._process.stderr.read().strip()}")
        answer: dict[str, Any] = json.loads(line)
        return answer


def _end(process: subprocess.Popen[str], path: Path) -> None:
    """The mount point is left if it never came to a mount; what was on it went with the namespace."""
    process.communicate()
    with contextlib.suppress(FileNotFoundError):
        path.rmdir()


@dataclass(frozen=True, slots=True)
class Ready:
    """A peer that ran an empty job here; `start` runs the interpreter with other arguments in the same walls."""

    peer: Peer
    bounded: bool
    start: Callable[[Sequence[str]], Ran]


def ready(stage: Stage, found: Sequence[Peer]) -> tuple[list[Ready], list[str]]:
    """Those that run here, and a note on each that does not, or not with bounds of memory and processes."""
    able, notes = [], []
    for peer in found:
        if peer.reason:
            notes.append(f"{peer.name}: {peer.reason}")
            continue
        title = f"{peer.name} {peer.version}".strip()
        failed: list[str] = []
        for bounded in (True, False) if peer.bounds else (False,):
            start = _prepare(stage, peer, bounded)
            ran = start(EMPTY)
            if ran.status == 0:
                able.append(Ready(peer, bounded, start))
                break
            failed.append(ran.said)
        else:
            notes.append(f"{title}: cannot run here: {'; without bounds: '.join(failed)}")
            continue
        if failed:
            notes.append(f"{title}: runs here only without bounds of memory and processes: {failed[0]}")
        elif not peer.bounds:
            notes.append(f"{title}: cannot bound memory or processes")
    return able, notes


def _prepare(stage: Stage, peer: Peer, bounded: bool) -> Callable[[Sequence[str]], Ran]:
    name = peer.name if bounded else f"{peer.name}-free"
    layout = commands.host_layout()
    layout.make(stage.files / name / "rootfs")
    numbers = itertools.count(1)
    generated: dict[str, Any] = {}
    written: list[Sequence[str]] = []

    def start(arguments: Sequence[str]) -> Ran:
        program = commands.interpreter(arguments)
        job = Job(stage.path / name, stage.group, layout, program, bounded, next(numbers))
        if peer.name in _BUNDLED and written != [program]:
            config = stage.files / name / "config.json"
            if not generated:
                spec = stage.run([peer.command, "spec", "--bundle", str(job.place)], commands.environment(job))
                if spec.status != 0:
                    return spec
                generated.update(json.loads(config.read_bytes()))
            config.write_text(json.dumps(commands.bundle(generated, job)), "utf-8")
            written[:] = [program]
        return stage.run(peer.argv(peer.command, job), commands.environment(job))

    return start


def contenders(search: str | None = None) -> tuple[dict[str, Callable[[], object]], list[str]]:
    """Those that run here, by name, each ready to be called for one empty job, and notes on the others.

    A call gives the seconds from the start of the tool to its end, and raises SandboxFault if it fails. The process
    that starts the tools lives as long as one of the calls is held.
    """
    found = peers(search)
    if all(peer.reason for peer in found):
        return {}, [f"{peer.name}: {peer.reason}" for peer in found]
    try:
        able, notes = ready(Stage(), found)
    except SandboxFault as error:
        return {}, [f"{peer.name}: {peer.reason or f'cannot run here: {error}'}" for peer in found]
    return {one.peer.name: _contender(one) for one in able}, notes


def _contender(one: Ready) -> Callable[[], object]:
    def run() -> float:
        ran = one.start(EMPTY)
        if ran.status != 0:
            raise SandboxFault(f"{one.peer.name}: {ran.said}")
        return ran.seconds

    return run
