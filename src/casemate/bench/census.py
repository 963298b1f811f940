"""What is there on the host: counted before and after, from /proc and the cgroup mounts."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass

MEMORY = ("AnonPages", "PageTables", "Slab")
"""Of /proc/meminfo: what children cost. PSS would divide the template's pages by their number, and flatter."""


def memory() -> int:
    """Bytes of the whole machine in MEMORY."""
    with open("/proc/meminfo", encoding="ascii") as file:
        found = {line.split(":")[0]: int(line.split()[1]) << 10 for line in file}
    return sum(found[name] for name in MEMORY)


def resident(pid: int) -> int:
    """Bytes of a process that are its own and in memory (proc_pid_status(5), RssAnon)."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("RssAnon:"))


def descendants(pid: int) -> int:
    """How many processes are below `pid`."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as file:
                    parent = int(file.read().rpartition(")")[2].split()[1])
            except (FileNotFoundError, ProcessLookupError):
                continue
            children.setdefault(parent, []).append(int(name))
    pending, found = [pid], 0
    while pending:
        below = children.get(pending.pop(), [])
        found += len(below)
        pending += below
    return found


def wait_for(condition: Callable[[], bool], timeout: float) -> bool:
    """Poll until it holds; False after `timeout` seconds."""
    end = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


@dataclass(frozen=True, slots=True)
class Leftovers:
    """Of this host, counted."""

    processes: int
    cgroups: int
    mounts: int
    temporary: int
    shared_memory: int

    def __sub__(self, other: Leftovers) -> Leftovers:
        return Leftovers(*(getattr(self, name) - getattr(other, name) for name in self.__slots__))


def leftovers(keeper: int, temporary: str = "/tmp") -> Leftovers:
    """Processes below `keeper`, cgroups and mounts that this process sees, entries of `temporary` and /dev/shm."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
        lines = file.readlines()
    points = [words[4] for words in map(str.split, lines) if " - cgroup" in " ".join(words)]
    groups = sum(1 for point in points for _ in os.walk(point))
    return Leftovers(descendants(keeper), groups, len(lines), _entries(temporary), _entries("/dev/shm"))


def _entries(directory: str) -> int:
    try:
        return len(os.listdir(directory))
    except FileNotFoundError:
        return 0
