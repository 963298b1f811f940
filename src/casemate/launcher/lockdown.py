"""Steps that take power away from a process: limits, descriptors, uid, capabilities, Landlock, seccomp.

Each function that applies has its read-back beside it.
"""

from __future__ import annotations

import base64
import os
import resource
import signal
import socket

from . import mounts, spec, syscalls
from .site import Site, StepFailed, require, status

_CORE = ((resource.RLIMIT_CORE, 0),)


def _rlimits(site: Site) -> tuple[tuple[int, int], ...]:
    walls = site.walls
    if walls is None:
        return _CORE
    return (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, walls.open_files),
        (resource.RLIMIT_FSIZE, walls.file_size),
        (resource.RLIMIT_CPU, walls.cpu_seconds),
        (resource.RLIMIT_NPROC, walls.processes),
        (resource.RLIMIT_DATA, site.data),
        (resource.RLIMIT_AS, site.address_space),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
        (resource.RLIMIT_SIGPENDING, 1024),
    )


def limit(site: Site) -> None:
    for which, value in _rlimits(site):
        resource.setrlimit(which, (value, value))


def see_limits(site: Site) -> str:
    wanted = _rlimits(site)
    for which, value in wanted:
        require(resource.getrlimit(which) == (value, value), f"rlimit {which} is not {value}")
    return f"{len(wanted)} rlimits"


_LIBRARY = 0b11 << 31
"""Signals 32 and 33, which the C library keeps to itself (nptl(7))."""


def session(_: Site) -> None:
    if os.getsid(0) != os.getpid():  # a runtime may have made one already, and a leader cannot make another
        os.setsid()
    os.umask(0o077)
    seen = status()
    changed = int(seen["SigCgt"], 16) | int(seen["SigIgn"], 16)
    for number in range(1, signal.NSIG):
        if changed & ~_LIBRARY & 1 << (number - 1):
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def see_session(_: Site) -> str:
    require(os.getsid(0) == os.getpid(), "not a session leader")
    seen = status()
    for name in ("SigCgt", "SigIgn", "SigBlk"):
        left = int(seen[name], 16) & ~_LIBRARY
        require(left == 0, f"{name} is {left:x}")
    require(seen["Umask"] == "0077", f"umask is {seen['Umask']}")
    return "own session, every signal at its default"


def descriptors(site: Site) -> None:
    # First above the range that will be overwritten, else one dup2 could close the source of the next.
    high = [os.dup(fd) if fd < len(site.keep) else fd for fd in site.keep]
    while any(fd < len(site.keep) for fd in high):
        high = [os.dup(fd) if fd < len(site.keep) else fd for fd in high]
    for target, fd in enumerate(high):
        os.dup2(fd, target, inheritable=True)
    syscalls.close_range(len(site.keep))


def see_descriptors(site: Site) -> str:
    listing = os.open("/proc/self/fd", os.O_RDONLY | os.O_DIRECTORY)
    found = {int(name) for name in os.listdir(listing)} - {listing}
    os.close(listing)
    # os.listdir on a descriptor duplicates it for the time of the listing; what is closed by now is not inherited.
    found = {fd for fd in found if _is_open(fd)}
    require(found == set(range(len(site.keep))), f"descriptors {sorted(found)}")
    return f"{len(found)} descriptors"


def _is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


def guest_identity(site: Site) -> None:
    if site.uid >= 0:
        os.setgroups([])
    os.setresgid(spec.GUEST_UID, spec.GUEST_UID, spec.GUEST_UID)
    os.setresuid(spec.GUEST_UID, spec.GUEST_UID, spec.GUEST_UID)
    # The uid change cleared it, and with it the guest's right to its own /proc entries. Who could trace it now is its
    # equal.
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)


def see_guest_identity(_: Site) -> str:
    require(os.getresuid() == (spec.GUEST_UID,) * 3, "not the guest's uid")
    require(os.getresgid() == (spec.GUEST_UID,) * 3, "not the guest's gid")
    return f"uid {spec.GUEST_UID}"


def capabilities(_: Site) -> None:
    syscalls.prctl(syscalls.PR_SET_SECUREBITS, syscalls.SECUREBITS_LOCKED)
    for capability in range(64):
        try:
            syscalls.prctl(syscalls.PR_CAPBSET_DROP, capability)
        except OSError:
            break  # EINVAL: past the last one that this kernel has
    # The ambient ones go with these (capabilities(7)).
    syscalls.drop_capabilities()


def see_capabilities(_: Site) -> str:
    seen = status()
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        require(int(seen[name], 16) == 0, f"{name} is {seen[name]}")
    bits = syscalls.prctl(syscalls.PR_GET_SECUREBITS)
    require(bits == syscalls.SECUREBITS_LOCKED, f"securebits are {bits:x}")
    return "all five sets empty, securebits locked"


def no_new_privs(_: Site) -> None:
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)


def see_no_new_privs(_: Site) -> str:
    require(status()["NoNewPrivs"] == "1", "no_new_privs is off")
    return "set"


def undumpable(_: Site) -> None:
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)


def see_undumpable(_: Site) -> str:
    require(syscalls.prctl(syscalls.PR_GET_DUMPABLE) == 0, "dumpable")
    return "off"


# Landlock access rights (linux/landlock.h): read a file, list a directory; all that is not execute, devices, sockets or
# FIFOs; sockets and FIFOs.
_EXECUTE = 1 << 0
_READ = 1 << 2 | 1 << 3
_WRITE = _READ | 1 << 1 | 1 << 4 | 1 << 5 | 1 << 7 | 1 << 8 | 1 << 12 | 1 << 13 | 1 << 14
_NAMED = 1 << 9 | 1 << 10
_DEVICE = 1 << 1 | 1 << 2
_TERMINAL = _DEVICE | 1 << 3 | 1 << 15
"""With ioctl(2), which is a right of its own from ABI 5 on."""


def landlock(site: Site) -> None:
    walls = _walls(site)
    abi = syscalls.landlock_abi()
    if abi == 0:
        require(not walls.landlock, "this kernel has no Landlock, and the profile needs it")
        return
    beneath = [("/usr", _READ | (_EXECUTE if walls.exec_image else 0))]
    beneath += [(path, _READ) for path in ("/etc", "/opt", "/proc")]
    written = (_EXECUTE if walls.exec_writable else 0) | (_NAMED if walls.sockets else 0)
    beneath += [("/tmp", _WRITE | written if walls.writable else _READ)]
    beneath += [(f"/dev/{name}", _DEVICE) for name in mounts.DEVICES]
    beneath += [("/dev/pts", _TERMINAL)] if walls.pty else []
    syscalls.landlock_restrict(abi, beneath, tcp=walls.loopback)


def _walls(site: Site) -> spec.Walls:
    if site.walls is None:
        raise StepFailed("no walls given")
    return site.walls


def see_landlock(site: Site) -> str:
    walls = _walls(site)
    abi = syscalls.landlock_abi()
    if abi == 0:
        return ""
    # There is no file that tells: try what must now be refused. The root's own listing is below no rule.
    try:
        os.listdir("/")
    except PermissionError:
        held = ["files", *(["TCP"] if abi >= 4 and not walls.loopback else []), *(["scopes"] if abi >= 6 else [])]
        held += [] if walls.exec_image else ["no execute"]
        return f"ABI {abi}: {', '.join(held)}"
    raise StepFailed("Landlock does not hold")


def seccomp(site: Site) -> None:
    syscalls.load_seccomp(base64.b64decode(_walls(site).seccomp, validate=True))


def see_seccomp(_: Site) -> str:
    seen = status()
    require(seen["Seccomp"] == "2", f"seccomp mode is {seen['Seccomp']}")
    # A filter that allows everything is in mode 2 as well: try what no set allows.
    try:
        socket.socket(socket.AF_NETLINK, socket.SOCK_RAW).close()
    except OSError:
        pass
    else:
        raise StepFailed("the filter lets a netlink socket through")
    return f"{seen.get('Seccomp_filters', '?')} filter"


def environment(site: Site) -> None:
    os.environ.clear()
    syscalls.clearenv()
    for variable in _walls(site).environment:
        name, _, value = variable.partition("=")
        os.environ[name] = value


def see_environment(site: Site) -> str:
    wanted = sorted(_walls(site).environment)
    require(sorted(f"{name}={value}" for name, value in os.environ.items()) == wanted, "os.environ is another")
    require(sorted(syscalls.environ_strings()) == wanted, "the C library's environment is another")
    with open("/proc/self/environ", "rb") as file:  # what the template was started with
        require(file.read() == b"", "/proc/self/environ is not empty")
    return ", ".join(entry.partition("=")[0] for entry in wanted) or "empty"
