"""Steps that put a process behind walls: cgroups, identity, namespaces, mounts. Each has its read-back beside it."""

from __future__ import annotations

import fcntl
import os
import socket
import struct

from . import syscalls
from .site import JOINED, Site, changed, require


def join_cgroups(site: Site) -> None:
    for fd in site.cgroups:
        os.write(fd, b"0")


def see_cgroups(site: Site) -> str:
    # Whether it is the right group only the keeper can see, from outside: it looks for the process in there.
    return f"joined {len(site.cgroups)} hierarchies" if site.cgroups else ""


def become(site: Site) -> None:
    if site.uid >= 0:
        os.setgroups([])
        os.setresgid(site.uid, site.uid, site.uid)
        os.setresuid(site.uid, site.uid, site.uid)
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)


def see_become(site: Site) -> str:
    if site.uid >= 0:
        require(os.getresuid() == (site.uid,) * 3 and os.getresgid() == (site.uid,) * 3, "uid or gid not taken")
        require(os.getgroups() == [], "supplementary groups remain")
    require(syscalls.prctl(syscalls.PR_GET_DUMPABLE) == 1, "not dumpable: the uid map could not be written")
    return "own uid" if site.uid >= 0 else "caller's uid"


def enter_user_namespace(site: Site) -> None:
    syscalls.unshare(syscalls.CLONE_NEWUSER)
    site.user_namespace()  # and so is, by its map, whom `become` made it


def see_user_namespace(site: Site) -> str:
    seen = changed(site, syscalls.CLONE_NEWUSER)
    require(os.getresuid() == (site.expected_uid,) * 3, f"uid is {os.getuid()}, not {site.expected_uid}: no map")
    require(os.getresgid() == (site.expected_uid,) * 3, f"gid is {os.getgid()}, not {site.expected_uid}: no map")
    with open("/proc/self/uid_map", encoding="ascii") as file:
        rows = [line.split() for line in file]
    require(bool(rows), "no uid map")
    require(site.uid < 0 or all(row[1] != "0" for row in rows), "the parent's root is mapped")
    return f"{seen}, {len(rows)} uid extents"


# --- namespaces and file system -----------------------------------------------------------------------------------


def enter_namespaces(site: Site) -> None:
    syscalls.unshare(site.namespaces & ~syscalls.CLONE_NEWPID)


def see_namespaces(site: Site) -> str:
    return changed(site, site.namespaces & ~syscalls.CLONE_NEWPID)


def see_first(_: Site) -> str:
    require(os.getpid() == 1, f"pid is {os.getpid()}, not 1")
    return "pid 1 of its own"


def mount(site: Site) -> None:
    site.tree()


def see_mount(site: Site) -> str:
    return site.verify_tree()


def enter_cgroup_namespace(_: Site) -> None:
    syscalls.unshare(syscalls.CLONE_NEWCGROUP)


def see_cgroup_namespace(site: Site) -> str:
    return changed(site, syscalls.CLONE_NEWCGROUP)


def name(site: Site) -> None:
    socket.sethostname(site.hostname)


def see_name(site: Site) -> str:
    require(os.uname().nodename == site.hostname, "host name not set")
    return site.hostname


_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1
"""netdevice(7)."""


def _flags(request: int, interface: str, flags: int = 0) -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        answer = fcntl.ioctl(any_socket, request, struct.pack("16sH14x", interface.encode(), flags))
    return int(struct.unpack("16sH14x", answer)[1])


def set_loopback(site: Site) -> None:
    if site.loopback:
        _flags(_SIOCSIFFLAGS, "lo", _flags(_SIOCGIFFLAGS, "lo") | _IFF_UP)


def see_loopback(site: Site) -> str:
    # A kernel may put tunnels of its own into every namespace; they must be down (sysctl fb_tunnels_only_for_init_net).
    up = [name for _, name in socket.if_nameindex() if _flags(_SIOCGIFFLAGS, name) & _IFF_UP]
    require(up == (["lo"] if site.loopback else []), f"interfaces that are up: {up}")
    return "up, and no other interface is" if site.loopback else "down, as every interface"


def join_walls(site: Site) -> None:
    syscalls.setns(site.join, JOINED)


def see_walls(site: Site) -> str:
    return changed(site, JOINED)
