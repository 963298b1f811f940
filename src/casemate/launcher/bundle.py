"""A room as an OCI bundle: the outer wall's steps in the words of the runtime specification (config.json, 1.0.2).

Pure: values in, one JSON object out. Where a step of the outer wall is found in it:

    session      nothing: every runtime starts a session of its own; signals are set by `behind`
    cgroup       nothing: the runtime is started inside the room's group, which inherits; see below
    identity     linux.uidMappings, linux.gidMappings, process.user
    user, namespaces, pid, cgroupns     linux.namespaces
    rlimits      process.rlimits
    mounts       root, mounts; the second tree, which sandboxes take, is made by `behind`
    hostname     hostname
    loopback     nothing: runtimes set the room's up, whatever one tells them; no guest is ever in that namespace

Beside what our own outer wall has, a bundle bounds the capabilities of the room's root, sets no_new_privs, and brings a
filter of system calls (`linux.seccomp`).

What is left out on purpose. `cgroupsPath`: on v1 the keeper's group lies at another path in each hierarchy, which one
path cannot say, and the room's group has no limits of its own; those of each sandbox are the keeper's to make.
`maskedPaths` and `readonlyPaths` are empty: a mount over part of /proc would make the inner /proc EPERM
(mount_namespaces(7)); guests see a /proc of their own.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from . import mounts, usermaps

VERSION = "1.0.2"
MADE = ("user", "rlimits", "namespaces", "pid", "cgroupns", "hostname", "loopback")
"""Steps of a room that the runtime makes; of the others see above."""
FROM_OUTSIDE = frozenset({"cgroup", "identity"})
"""Steps of a room that only the keeper can read back."""
PROGRAM = (
    "import sys; sys.path.insert(0, '/opt/casemate'); from casemate.launcher import behind; sys.exit(behind.main())"
)
CAPABILITIES = {
    "CAP_DAC_OVERRIDE": 1, "CAP_SETGID": 6, "CAP_SETUID": 7, "CAP_SYS_CHROOT": 18, "CAP_SYS_PTRACE": 19,
    "CAP_SYS_ADMIN": 21, "CAP_SETFCAP": 31,
}  # fmt: skip
"""What the room's root may have, inside its own user namespace: to write the maps of others, which are files of theirs
(DAC_OVERRIDE), also where the one uid to be mapped is the room's 0 (SETFCAP, user_namespaces(7)), become a uid, mount,
and join namespaces by pidfd (SYS_PTRACE, SYS_CHROOT; setns(2))."""
_INERT = ["nosuid", "nodev", "noexec"]
_NAMESPACES = ("user", "mount", "pid", "network", "ipc", "uts", "cgroup")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a bundle's parts are on the host, absolute: the image, a /dev without nodes, our code."""

    rootfs: str
    devices: str
    code: str


def config(
    place: Place, extents: tuple[tuple[usermaps.Extent, ...], tuple[usermaps.Extent, ...]],
    seccomp: str,
) -> dict[str, Any]:  # fmt: skip
    """The bundle's config.json; `extents` are uids and gids, `seccomp` the JSON of `linux.seccomp`."""
    uids, gids = extents
    sets = dict.fromkeys(("bounding", "effective", "permitted"), sorted(CAPABILITIES))
    return {
        "ociVersion": VERSION,
        "hostname": "room",
        "root": {"path": place.rootfs, "readonly": True},
        "process": {
            "terminal": False,
            "user": {"uid": 0, "gid": 0, "umask": 0o077},
            "args": ["/usr/bin/python3", "-I", "-S", "-B", "-c", PROGRAM],
            "env": ["PATH=/usr/bin"],
            "cwd": "/",
            "capabilities": {**sets, "inheritable": [], "ambient": []},
            "rlimits": [{"type": "RLIMIT_CORE", "hard": 0, "soft": 0}],
            "noNewPrivileges": True,
        },
        "mounts": [
            _mount("/proc", "proc", "proc", *_INERT),
            _mount("/dev", "bind", place.devices, "bind", "ro", "nosuid", "noexec"),
            # One by one: crun 1.8 does not take the mounts below a bound directory along, whatever it is told.
            *(_mount(f"/dev/{node}", "bind", f"/dev/{node}", "bind", "nosuid", "noexec") for node in mounts.DEVICES),
            _mount("/opt/casemate", "bind", place.code, "bind", "ro", *_INERT),
            _mount("/tmp", "tmpfs", "tmpfs", *_INERT, "size=16m", "nr_inodes=4k", "mode=0755"),
            _mount("/run", "tmpfs", "tmpfs", *_INERT, "size=64k", "nr_inodes=16", "mode=0755"),
        ],
        "linux": {
            "namespaces": [{"type": kind} for kind in _NAMESPACES],
            "uidMappings": [_mapping(extent) for extent in uids],
            "gidMappings": [_mapping(extent) for extent in gids],
            "rootfsPropagation": "private",
            "maskedPaths": [],
            "readonlyPaths": [],
            "seccomp": json.loads(seccomp),
        },
    }


def _mount(destination: str, kind: str, source: str, *options: str) -> dict[str, Any]:
    return {"destination": destination, "type": kind, "source": source, "options": list(options)}


def _mapping(extent: usermaps.Extent) -> dict[str, int]:
    return {"containerID": extent.inside, "hostID": extent.outside, "size": extent.count}


def capability_mask() -> int:
    """`CAPABILITIES` as a set in /proc/PID/status has them (capabilities(7))."""
    return sum(1 << number for number in CAPABILITIES.values())
