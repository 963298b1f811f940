"""The guest as the host's /proc shows it, while it waits to be seen (source.MARK): nothing inside can colour that."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from casemate.verify.source import MARK


def fields(pid: int) -> dict[str, str]:
    """Fields of /proc/PID/status, empty if the process is gone (proc_pid_status(5))."""
    with contextlib.suppress(OSError):
        lines = Path(f"/proc/{pid}/status").read_text("utf-8", "replace").splitlines()
        return {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}
    return {}


def below(pid: int) -> set[int]:
    """Every process below `pid`."""
    parents = {int(name): int(fields(int(name)).get("PPid", "0")) for name in os.listdir("/proc") if name.isdigit()}
    found: set[int] = set()
    new = {pid}
    while new:
        new = {child for child, parent in parents.items() if parent in new} - found
        found |= new
    return found


def in_namespace(kind: str, number: str) -> tuple[int, ...]:
    """Living processes in the namespace of this kind and inode number, wherever on the host."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{name}/ns/{kind}") == f"{kind}:[{number}]":
                    found.append(int(name))
    return tuple(pid for pid in found if not fields(pid).get("State", "Z").startswith(("Z", "X")))


@dataclass(frozen=True, slots=True)
class Look:
    """What a guest shows: `status` fields, targets of its descriptors, its memory map, and some single files."""

    pid: int
    status: dict[str, str]
    descriptors: tuple[str, ...]
    maps: str
    mounts: int
    files: dict[str, str]
    root: str
    namespaces: dict[str, str]

    def shows(self, trace: str) -> str:
        """What matches a trace, "" if nothing.

        "fd TEXT": a descriptor's target begins so. "map TEXT": a mapping is named so. "status NAME VALUE": the field
        is not that value. "file NAME VALUE": the file's text is not that value.
        """
        kind, _, rest = trace.partition(" ")
        if kind == "fd":
            return next((f"it holds {found}" for found in self.descriptors if found.startswith(rest)), "")
        if kind == "map":
            return f"it has {rest} mapped" if rest in self.maps else ""
        name, _, wanted = rest.partition(" ")
        found = (self.status if kind == "status" else self.files).get(name, "?")
        return "" if found == wanted else f"its {name} is {found!r}, not {wanted!r}"


_FILES = ("personality", "timers", "oom_score_adj", "timerslack_ns", "coredump_filter", "loginuid", "comm")


def _read(path: str) -> str:
    try:
        return Path(path).read_text("utf-8", "replace").strip()
    except OSError:
        return "?"


def _targets(pid: int) -> Iterator[str]:
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            if name != str(MARK):
                yield os.readlink(f"/proc/{pid}/fd/{name}")


def take(pid: int) -> Look:
    """Look at a process; raises OSError if it is gone."""
    stat = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    files = {name: _read(f"/proc/{pid}/{name}") for name in _FILES}
    # Counted from the field behind the name (proc_pid_stat(5)): 16 nice, 37 last CPU, 38 and 39 priority and policy.
    files |= {"nice": stat[16], "rt_priority": stat[37], "policy": stat[38]}
    return Look(
        pid, fields(pid), tuple(_targets(pid)), _read(f"/proc/{pid}/maps"),
        len(_read(f"/proc/{pid}/mountinfo").splitlines()), files, os.readlink(f"/proc/{pid}/root"),
        {name: os.readlink(f"/proc/{pid}/ns/{name}") for name in ("user", "mnt", "net", "ipc", "uts", "pid", "cgroup")},
    )  # fmt: skip


def waiting(keeper: int) -> int | None:
    """The guest below a keeper that waits to be seen."""
    for pid in below(keeper):
        if os.path.lexists(f"/proc/{pid}/fd/{MARK}"):
            return pid
    return None


def until_seen(keeper: int, seconds: float, over: list[object]) -> int | None:
    """Wait for it; None once `over` holds something, or after so many seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and not over:
        if (pid := waiting(keeper)) is not None:
            return pid
        time.sleep(0.005)
    return None


def release(pid: int) -> None:
    """Let it go on."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGUSR1)
