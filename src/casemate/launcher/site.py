"""What a step works on, where it belongs, and how a process looks at itself through /proc."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from . import spec, syscalls


class Place(StrEnum):
    """Which process a step belongs to."""

    ROOM = "room"
    INIT = "init"
    EXEC = "exec"
    GUEST = "guest"


class StepFailed(RuntimeError):
    """A step that could not be applied, or whose effect was not there afterwards."""


@dataclass
class Site:
    """What the steps of one place work on, filled by the process that takes them."""

    cgroups: tuple[int, ...] = ()
    """Open cgroup.procs files to join."""
    uid: int = -1
    """Uid and gid to become; -1 keeps the one there is."""
    user_namespace: Callable[[], None] = lambda: None
    """Asks the parent for the uid and gid maps and returns when they are written."""
    expected_uid: int = 0
    """The uid as seen inside, once mapped."""
    namespaces: int = 0
    tree: Callable[[], None] = lambda: None
    verify_tree: Callable[[], str] = lambda: ""
    hostname: str = ""
    loopback: bool = False
    """True: up."""
    join: int = -1
    """A pidfd whose namespaces a guest joins."""
    walls: spec.Walls | None = None
    address_space: int = 0
    data: int = 0
    """RLIMIT_AS and RLIMIT_DATA, absolute."""
    keep: tuple[int, ...] = ()
    """Descriptors to become 0, 1, 2, …; all others are closed."""
    before: dict[str, int] = field(default_factory=dict)
    """Namespace inode numbers before the first step."""


_NAMES = {
    "user": syscalls.CLONE_NEWUSER, "mnt": syscalls.CLONE_NEWNS, "net": syscalls.CLONE_NEWNET,
    "ipc": syscalls.CLONE_NEWIPC, "uts": syscalls.CLONE_NEWUTS, "cgroup": syscalls.CLONE_NEWCGROUP,
    "pid_for_children": syscalls.CLONE_NEWPID,
}  # fmt: skip
JOINED = (
    syscalls.CLONE_NEWUSER | syscalls.CLONE_NEWNS | syscalls.CLONE_NEWNET | syscalls.CLONE_NEWIPC
    | syscalls.CLONE_NEWUTS | syscalls.CLONE_NEWCGROUP
)  # fmt: skip


def namespaces() -> dict[str, int]:
    """Inode numbers of this process's namespaces (namespaces(7))."""
    return {name: os.stat(f"/proc/self/ns/{name}").st_ino for name in _NAMES}


def status() -> dict[str, str]:
    """Fields of /proc/self/status (proc_pid_status(5))."""
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:
        return {key: value.strip() for key, _, value in (line.partition(":") for line in file)}


def require(condition: bool, what: str) -> None:
    """Raise StepFailed unless the kernel says so."""
    if not condition:
        raise StepFailed(what)


def changed(site: Site, flags: int) -> str:
    """The new namespaces' numbers; raises if one is still the old."""
    now = namespaces()
    wanted = [name for name, flag in _NAMES.items() if flag & flags]
    same = [name for name in wanted if now[name] == site.before[name]]
    require(not same, f"still in the old namespace: {' '.join(same)}")
    return " ".join(f"{name}:{now[name]}" for name in wanted)
