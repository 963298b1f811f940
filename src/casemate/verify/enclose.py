"""Enters the harness and starts a program there; executed, standard library and the launcher's own modules only.

    caller ─► outer (joins the cgroup, makes namespaces) ─fork─► pid 1 (mounts, network, user namespace) ─execve─► argv

As root, the program is uid 0 of a user namespace with a block of uids for sandboxes, and has no capability over the
host; its own uid is still that of the host's root, because v1 lets nobody else move processes of other uids between
groups, and so all that is mounted is read-only but for fresh tmpfs, the cgroup files and /proc. What a sandbox in there
is has another uid, and never that one.
"""

from __future__ import annotations

import json
import os
import re
import sys
from typing import Any

from casemate.launcher import syscalls, usermaps
from casemate.verify import network

FRESH = ("/tmp", "/var/tmp", "/run", "/dev/shm", "/root", "/home")
_WRITABLE = ("cgroup", "cgroup2", "proc")
_ALL = syscalls.CLONE_NEWNET | syscalls.CLONE_NEWIPC | syscalls.CLONE_NEWUTS | syscalls.CLONE_NEWPID


def main(text: str) -> None:
    """Never returns: ends as the program ends."""
    order = json.loads(text)
    for fd in order["procs"]:
        os.write(fd, b"0")
        os.close(fd)
    root = bool(order["maps"])
    if root:
        os.setgroups([])
        syscalls.unshare(_ALL)
    else:
        uid, gid = os.geteuid(), os.getegid()
        syscalls.unshare(syscalls.CLONE_NEWUSER | _ALL)
        for name, line in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(line)
    handshake = usermaps.Handshake()
    pid = os.fork()
    if pid == 0:
        try:
            syscalls.prctl(syscalls.PR_SET_PDEATHSIG, 9)
            _inner(order, handshake if root else None)
        except BaseException as error:
            print(f"harness: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        finally:
            os._exit(70)
    if root:
        extents = tuple(usermaps.Extent(*row) for row in order["maps"])
        handshake.parent(pid, extents, extents, privileged=True)
    _, status = os.waitpid(pid, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _inner(order: dict[str, Any], handshake: usermaps.Handshake | None) -> None:
    syscalls.unshare(syscalls.CLONE_NEWNS)  # not before: the outer process needs the /proc of its own pid namespace
    _mount(order["expose"])
    network.isolate()
    # What needs a capability over the network elsewhere needs none in here.
    # A range of groups must be mapped: a user has one.
    groups = "0 2147483647" if handshake is not None else f"{os.getegid()} {os.getegid()}"
    for name, value in (("ip_unprivileged_port_start", "0"), ("ping_group_range", groups)):
        with open(f"/proc/sys/net/ipv4/{name}", "w", encoding="ascii") as file:
            file.write(value)
    if handshake is not None:
        syscalls.unshare(syscalls.CLONE_NEWUSER)
        handshake.child()
        os.setresgid(0, 0, 0)
        os.setresuid(0, 0, 0)
        syscalls.prctl(syscalls.PR_SET_PDEATHSIG, 9)
    os.chdir("/")
    environment = {**os.environ, "PYTHONPATH": order["path"], "PYTHONDONTWRITEBYTECODE": "1", "HOME": "/tmp"}
    os.execve(order["argv"][0], order["argv"], environment)


def _mount(expose: list[str]) -> None:
    """Make what is mounted read-only, cover what is to be ours, and show again what is below it."""
    syscalls.mount("none", "/", None, syscalls.MS_REC | syscalls.MS_PRIVATE)
    held = {path: os.open(path, os.O_PATH | os.O_CLOEXEC) for path in expose}
    for point, kind in _mounted():
        if kind not in _WRITABLE:
            syscalls.mount_setattr(point, syscalls.MOUNT_ATTR_RDONLY)
    covered = {path for path in FRESH if os.path.isdir(path)}
    for path in sorted(covered):
        if not os.path.islink(path):
            syscalls.mount("tmpfs", path, "tmpfs", syscalls.MS_NOSUID | syscalls.MS_NODEV, "mode=1777")
    for path, fd in held.items():
        if any(path == top or path.startswith(f"{top}/") for top in covered):
            os.makedirs(path, mode=0o755, exist_ok=True)
            syscalls.mount(f"/proc/self/fd/{fd}", path, None, syscalls.MS_BIND | syscalls.MS_REC)
        os.close(fd)
    syscalls.mount("proc", "/proc", "proc", syscalls.MS_NOSUID | syscalls.MS_NODEV | syscalls.MS_NOEXEC)


def _mounted() -> list[tuple[str, str]]:
    """(mount point, file system type), the last on a point only."""
    found = {}
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        for line in file:
            left, _, right = line.partition(" - ")
            point = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), left.split(" ")[4])
            found[point] = right.split(" ")[0]
    return [(point, kind) for point, kind in found.items() if not point.startswith("/proc/")]
