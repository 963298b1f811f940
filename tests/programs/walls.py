"""What the files in /proc say of each process behind the walls while a sandbox waits; one line of JSON.

Arguments: directory of a changed launcher (-: ours), profile.
"""

import contextlib
import fcntl
import json
import os
import sys
from pathlib import Path

from processes import descendants, fields
from stocked import open_request, prepared, standing

import casemate
from casemate.launcher import syscalls
from casemate.runtime import connection

NS_GET_OWNER_UID = 0xB704
"""ioctl_ns(2)."""
NAMESPACES = ("user", "mnt", "net", "ipc", "uts", "cgroup", "pid")


def look(pid):
    """One process."""
    place = Path(f"/proc/{pid}")
    lines = {name: (place / name).read_text("utf-8", "replace").splitlines() for name in ("limits", "mountinfo")}
    mounts = {}
    for line in lines["mountinfo"]:
        left, _, right = line.partition(" - ")
        parts = left.split(" ")
        mounts[parts[4]] = {"flags": parts[5].split(","), "options": right.split(" ", 2)[2].split(",")}
    return {
        "status": fields(pid),
        "ns": {name: os.readlink(place / "ns" / name) for name in NAMESPACES},
        "limits": {line[:26].strip(): line[26:].split()[:2] for line in lines["limits"][1:]},
        "mounts": mounts,
        "uid_map": (place / "uid_map").read_text("ascii").splitlines(),
        "cgroups": [line for line in (place / "cgroup").read_text("ascii").splitlines() if "/casemate-" in line],
        "descriptors": sorted(os.listdir(place / "fd")),
        "environ": (place / "environ").read_text("utf-8", "replace"),
        "below_tmp": {path.name: path.lstat().st_mode & 0o7777 for path in (place / "root" / "tmp").glob("*")},
        "owner": (place / "environ").stat().st_uid,
        "user_owner": owner(place / "ns" / "user"),
        **inside(pid),
    }


def owner(namespace):
    """The uid that made a user namespace, and that has every capability in it from outside (user_namespaces(7))."""
    fd = os.open(namespace, os.O_RDONLY)
    try:
        return int.from_bytes(fcntl.ioctl(fd, NS_GET_OWNER_UID, bytes(4)), sys.byteorder)
    finally:
        os.close(fd)


def inside(pid):
    """What only a process in the same namespaces is told: host name and interfaces that are up."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(OSError):
            fd = os.pidfd_open(pid)
            syscalls.setns(fd, syscalls.CLONE_NEWUTS | syscalls.CLONE_NEWNET)
            sys.path.insert(0, "/")
            from casemate.launcher import enclose

            up = [name for _, name in enclose.socket.if_nameindex() if enclose._flags(0x8913, name) & 1]
            os.write(write, json.dumps({"hostname": os.uname().nodename, "up": up}).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    return json.loads(told or b"{}")


if sys.argv[1] != "-":
    connection.PACKAGE = Path(sys.argv[1])
with casemate.Host(stock=casemate.Stock(size=1)) as host:
    request = open_request(host, b"raise SystemExit(0)\n", profile=sys.argv[2])
    standing(host, request)
    with prepared(host, request, 1) as ready:
        [guest] = ready.pids.values()
        wall = os.readlink(f"/proc/{guest}/ns/user")
        found = {"host": os.getpid(), "keeper": host.keeper_pid, "guest": guest}
        for pid in descendants(host.keeper_pid):
            ids = fields(pid).get("NSpid", "").split()
            if len(ids) == 2:
                found["room" if ids[1] == "1" else "template"] = pid
            elif len(ids) > 2 and pid != guest and os.readlink(f"/proc/{pid}/ns/user") == wall:
                found["init" if len(ids) == 3 else "exec"] = pid
        seen = {name: look(pid) for name, pid in found.items()}
print(json.dumps(seen))
