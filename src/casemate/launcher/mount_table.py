"""What the mount tables of a room, a sandbox and an execution must be, and whether they are."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass

from . import mounts, spec

_NULL = os.makedev(1, 3)


@dataclass(frozen=True)
class Tree:
    """A mount table: mount point → file system type ("" for any), and what else must be true of some of them."""

    points: dict[str, str]
    read_only: tuple[str, ...] = ("/", "/dev", "/opt/casemate")
    executable: tuple[str, ...] = ()
    """Mount points that may lack noexec, of those that have it otherwise."""
    options: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Mount point, and options that its file system must have."""
    masked: bool = False
    """True: /proc shows more than processes, with masks over all that is not SHOWN."""


# What a mount must be, beside nosuid, which all but the device nodes must be.
_FLAGS = {
    "/": {"nodev"},
    "/tmp": {"nodev", "noexec"},
    "/proc": {"nodev", "noexec"},
    "/opt/casemate": {"nodev", "noexec"},
    "/dev": {"noexec"},
    "/dev/pts": {"noexec"},
}
_NODES = tuple(f"/dev/{name}" for name in mounts.DEVICES)


def room() -> Tree:
    """Of a room."""
    prepared = {mounts.PREPARED: "", f"{mounts.PREPARED}/dev": "tmpfs", f"{mounts.PREPARED}/opt/casemate": "tmpfs"}
    devices = dict.fromkeys((f"{mounts.PREPARED}{point}" for point in _NODES), "")
    return Tree(_base() | {"/run": "tmpfs"} | prepared | devices)


def sandbox(walls: spec.Walls) -> Tree:
    """Of a sandbox, as init has it."""
    points = _base() | ({"/dev/pts": "devpts"} if walls.pty else {})
    options = (("/dev/pts", ("mode=600", "ptmxmode=666", "max=16")),) if walls.pty else ()
    return Tree(points, executable=("/tmp",) if walls.exec_writable else (), options=options)


def execution(walls: spec.Walls) -> Tree:
    """Of an execution: the guest's."""
    whole = sandbox(walls)
    read_only = (*whole.read_only, "/proc", *(() if walls.writable else ("/tmp",)))
    options = (*whole.options, ("/proc", mounts.PROC[:1] if walls.masked else mounts.PROC))
    return Tree(whole.points, read_only, whole.executable, options, walls.masked)


def _base() -> dict[str, str]:
    return {"/": "", "/dev": "tmpfs", "/opt/casemate": "tmpfs", "/proc": "proc", "/tmp": "tmpfs"} | dict.fromkeys(
        _NODES, ""
    )


def verify(tree: Tree) -> str:
    """Compare this process's mount table with what it must be; returns what was read.

    The last mount on a point is the one in force. Raises OSError where something is mounted that should not be, is
    missing, is writable though it should be read-only, lacks a flag or an option, or is not masked.
    """
    found = _mounted()
    masks = {point for point in found if tree.masked and point.startswith("/proc/")}
    if set(found) - masks != set(tree.points):
        raise OSError(f"mount table: {sorted((set(found) - masks) ^ set(tree.points))} unexpected or missing")
    for point, kind in tree.points.items():
        if kind and found[point][0] != kind:
            raise OSError(f"{point}: {found[point][0]} is mounted, not {kind}")
        if "nosuid" not in found[point][1] and not point.endswith(_NODES):
            raise OSError(f"{point}: not nosuid")
        missing = _FLAGS.get(point, set()) - found[point][1] - ({"noexec"} if point in tree.executable else set())
        if missing:
            raise OSError(f"{point}: not {', '.join(sorted(missing))}")
    for point, wanted in tree.options:
        if lacking := set(wanted) - found[point][2]:
            raise OSError(f"{point}: not {', '.join(sorted(lacking))}")
    for point in tree.read_only:
        if "ro" not in found[point][1]:
            raise OSError(f"{point}: writable")
    for path in _NODES:
        if not stat.S_ISCHR(os.stat(path).st_mode):
            raise OSError(f"{path}: not a device")
    hidden = _masked() if tree.masked else 0
    told = f", {hidden} masks over /proc" if tree.masked else ""
    return f"{len(found)} mounts, read-only: {' '.join(tree.read_only)}{told}"


def _mounted() -> dict[str, tuple[str, set[str], set[str]]]:
    """Mount point → type, flags of the mount, options of the file system (proc_pid_mountinfo(5))."""
    found: dict[str, tuple[str, set[str], set[str]]] = {}
    with open("/proc/thread-self/mountinfo", encoding="utf-8") as file:
        for line in file:
            left, _, right = line.partition(" - ")
            parts = left.split(" ")
            kind, _, options = right.split(" ", 2)
            found[parts[4]] = (kind, set(parts[5].split(",")), set(options.strip().split(",")))
    return found


def _masked() -> int:
    """How many there are; each must be the null device, or an empty directory of a read-only file system not /proc."""
    paths = mounts.beside_processes()
    proc = os.stat("/proc").st_dev
    for path in paths:
        seen = os.stat(path)
        null = stat.S_ISCHR(seen.st_mode) and seen.st_rdev == _NULL
        if not null and not (
            stat.S_ISDIR(seen.st_mode) and seen.st_dev != proc
            and not os.listdir(path) and os.statvfs(path).f_flag & os.ST_RDONLY
        ):  # fmt: skip
            raise OSError(f"{path}: not masked")
    return len(paths)
