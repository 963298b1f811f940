"""Where a process stands in the cgroup hierarchies, v1 and v2, and which of their groups are ours to divide.

Reads the kernel's own texts (cgroups(7), proc_pid_mountinfo(5)), and changes nothing. `cgroups` makes groups there.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
from dataclasses import dataclass

NEEDED = ("memory", "pids", "cpu")
WANTED = (*NEEDED, "cpuacct")
CALLERS = "casemate-callers"
"""The leaf of a divided v2 group in which its own processes are."""


@dataclass(frozen=True)
class Hierarchy:
    """One mounted hierarchy: its controllers and the directory of the caller's own group."""

    version: int
    controllers: frozenset[str]
    own: str
    top: bool = False
    """True if `own` is the mounted root: a container's, or the host's."""


def parse(mountinfo: str, cgroup: str) -> tuple[Hierarchy, ...]:
    """The hierarchies that hold a process, from the text of its mountinfo and cgroup files."""
    groups: dict[frozenset[str], str] = {}
    unified = ""
    for line in cgroup.splitlines():
        number, controllers, path = line.split(":", 2)
        if number == "0" and not controllers:
            unified = path
        else:
            groups[frozenset(controllers.split(","))] = path
    found: dict[frozenset[str], Hierarchy] = {}
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        fields, kind = left.split(" "), right.split(" ")
        root, point = _unescaped(fields[3]), _unescaped(fields[4])
        if kind[0] == "cgroup2" and unified and (own := _below(point, root, unified)):
            own = own.removesuffix(f"/{CALLERS}")  # where an earlier keeper moved us to
            offered = look(f"{own}/cgroup.controllers").split()
            _keep(found, frozenset(), Hierarchy(2, frozenset(offered), own, own == point))
        elif kind[0] == "cgroup":
            options = set(kind[2].split(","))
            for together, path in groups.items():
                if together <= options and (own := _below(point, root, path)):
                    _keep(found, together, Hierarchy(1, together, own))
    return tuple(found.values())


def _keep(found: dict[frozenset[str], Hierarchy], key: frozenset[str], hierarchy: Hierarchy) -> None:
    """Of a hierarchy that is mounted twice (a chroot with its own /sys) the first mount that can be written counts."""
    if key not in found or not _writable(found[key].own):
        found[key] = hierarchy


def _unescaped(path: str) -> str:
    """Mountinfo writes space, tab, newline and backslash as three octal digits (proc_pid_mountinfo(5))."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), path)


def _below(point: str, root: str, path: str) -> str:
    """Where the group `path` is, in a mount of the subtree `root` at `point`; "" if it is outside."""
    if path.startswith("/.."):
        return ""  # outside the root of our cgroup namespace (cgroup_namespaces(7))
    if root == "/":
        return (point + path).rstrip("/")
    if path == root or path.startswith(root + "/"):
        return point + path[len(root) :]
    return ""


def read(path: str) -> str:
    """A control file's text, "" if it is not there or its group was removed meanwhile.

    Any other failure is an error: a counter that cannot be read is not 0, and a group that cannot be read not empty.
    """
    try:
        with open(path, encoding="ascii") as file:
            return file.read()
    except FileNotFoundError:
        return ""
    except OSError as error:
        if error.errno in (errno.ENODEV, errno.ENOTDIR):
            return ""
        raise


def look(path: str) -> str:
    """As `read`, of groups that are not ours: what is not for us to read is not there."""
    try:
        return read(path)
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.EACCES):
            return ""
        raise


@dataclass(frozen=True)
class Survey:
    """What the caller's place in the cgroup file systems allows; `missing` says why a controller is not there."""

    hierarchies: tuple[Hierarchy, ...]
    missing: tuple[tuple[str, str], ...]

    def version(self, controller: str) -> int:
        """1, 2, or 0 if the controller is not to be had."""
        return next((h.version for h in self.hierarchies if controller in h.controllers), 0)


def survey(mountinfo: str | None = None, cgroup: str | None = None) -> Survey:
    """Find the controllers and see whether we may make groups; changes nothing."""
    hierarchies = parse(
        read("/proc/self/mountinfo") if mountinfo is None else mountinfo,
        read("/proc/self/cgroup") if cgroup is None else cgroup,
    )
    usable, missing = [], []
    for hierarchy in hierarchies:
        useful = hierarchy.controllers.intersection(WANTED)
        if useful and (hierarchy.version == 1 or _delegated(hierarchy)) and _writable(hierarchy.own):
            usable.append(Hierarchy(hierarchy.version, useful, hierarchy.own, hierarchy.top))
    for controller in NEEDED:
        if not any(controller in h.controllers for h in usable):
            version = next((h.version for h in hierarchies if controller in h.controllers), 0)
            missing.append((controller, _REASONS[version]))
    return Survey(tuple(usable), tuple(missing))


_REASONS = {
    0: "no mounted cgroup hierarchy offers it to this process; remedy: a kernel and container runtime that do",
    1: "the cgroup (v1) that this process is in is not ours to divide; remedy: run as root, or in a group that an"
    " administrator has given to this user (chown of the directory and its cgroup.procs)",
    2: "the cgroup (v2) that this process is in is not ours to divide; remedy: run under delegation, for instance"
    " `systemd-run --user --scope -p Delegate=yes casemate …` (as root without --user), or a service with Delegate=yes",
}


def _writable(own: str) -> bool:
    return os.access(own, os.W_OK) and os.access(f"{own}/cgroup.procs", os.W_OK)


def _delegated(hierarchy: Hierarchy) -> bool:
    """Whether a v2 group is ours to divide: said so by systemd, owned by us as a user, or a container's root."""
    if hierarchy.top or hierarchy.controllers.intersection(WANTED) <= set(
        look(f"{hierarchy.own}/cgroup.subtree_control").split()
    ):
        return True
    for name in ("trusted.delegate", "user.delegate"):
        with contextlib.suppress(OSError):
            if os.getxattr(hierarchy.own, name) == b"1":
                return True
    with contextlib.suppress(OSError):
        return os.geteuid() != 0 and os.stat(hierarchy.own).st_uid == os.geteuid()
    return False
