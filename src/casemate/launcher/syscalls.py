"""The kernel calls that Python's standard library lacks; the only module that uses ctypes.

Each function raises OSError with the call's name on failure and returns what the kernel returned. Sources: the man page
of the call, section 2, and, where the C library has no wrapper, the numbers of <asm/unistd.h>.
"""

from __future__ import annotations

import ctypes
import os
import platform
import select
import struct

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
_libc.ptrace.restype = ctypes.c_long

# Calls from 424 on have one number on every architecture; the older ones differ.
_MACHINE = platform.machine()
_PIVOT_ROOT, _SECCOMP = {"x86_64": (155, 317), "aarch64": (41, 277)}.get(_MACHINE, (-1, -1))
_CLOSE_RANGE, _OPENAT2, _MOUNT_SETATTR = 436, 437, 442
_LANDLOCK_CREATE_RULESET, _LANDLOCK_ADD_RULE, _LANDLOCK_RESTRICT_SELF = 444, 445, 446

CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x02000000, 0x04000000, 0x08000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
MNT_DETACH = 2
MOUNT_ATTR_RDONLY, MOUNT_ATTR_NOSUID, MOUNT_ATTR_NODEV, MOUNT_ATTR_NOEXEC = 1, 2, 4, 8
AT_RECURSIVE = 0x8000

PR_SET_PDEATHSIG, PR_GET_DUMPABLE, PR_SET_DUMPABLE = 1, 3, 4
PR_SET_CHILD_SUBREAPER = 36
PR_CAPBSET_READ, PR_CAPBSET_DROP, PR_GET_SECUREBITS, PR_SET_SECUREBITS = 23, 24, 27, 28
PR_SET_NO_NEW_PRIVS, PR_GET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 38, 39, 47
# NOROOT, NO_SETUID_FIXUP, KEEP_CAPS (off) and NO_CAP_AMBIENT_RAISE, each with its lock (capabilities(7)).
SECUREBITS_LOCKED = 0b11_10_11_11

RESOLVE_NO_XDEV, RESOLVE_NO_SYMLINKS, RESOLVE_BENEATH = 1, 4, 8

LANDLOCK_SCOPES = 0b11
"""Abstract unix sockets and signals (ABI 6)."""


def _check(result: int, name: str) -> int:
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
    return result


def _raw(name: str, number: int, *arguments: object) -> int:
    if number < 0:
        raise OSError(38, f"{name}: no number known for {_MACHINE}")
    return _check(int(_libc.syscall(ctypes.c_long(number), *arguments)), name)


def unshare(flags: int) -> None:
    """Enter new namespaces (unshare(2))."""
    _check(_libc.unshare(ctypes.c_int(flags)), "unshare")


def setns(fd: int, flags: int) -> None:
    """Join namespaces by a namespace descriptor or, since Linux 5.8, several at once by a pidfd (setns(2))."""
    _check(_libc.setns(ctypes.c_int(fd), ctypes.c_int(flags)), "setns")


def mount(source: str, target: str, fstype: str | None, flags: int, data: str | None = None) -> None:
    """mount(2)."""
    result = _libc.mount(
        source.encode(), target.encode(), fstype.encode() if fstype else None,
        ctypes.c_ulong(flags), data.encode() if data else None,
    )  # fmt: skip
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, f"mount {fstype or 'bind'} on {target}: {os.strerror(code)}")


def umount(target: str, flags: int = 0) -> None:
    """umount2(2)."""
    _check(_libc.umount2(target.encode(), ctypes.c_int(flags)), f"umount {target}")


def mount_setattr(target: str, attributes: int, *, recursive: bool = False) -> None:
    """Add MOUNT_ATTR_* to a mount, and leave every other attribute as it is (mount_setattr(2), Linux 5.12)."""
    attr = struct.pack("=QQQQ", attributes, 0, 0, 0)
    flags = AT_RECURSIVE if recursive else 0
    _raw("mount_setattr", _MOUNT_SETATTR, ctypes.c_int(-100), ctypes.c_char_p(target.encode()),
         ctypes.c_uint(flags), ctypes.c_char_p(attr), ctypes.c_size_t(len(attr)))  # fmt: skip


def pivot_root(new: str, old: str) -> None:
    """pivot_root(2)."""
    _raw("pivot_root", _PIVOT_ROOT, ctypes.c_char_p(new.encode()), ctypes.c_char_p(old.encode()))


def prctl(option: int, a: int = 0, b: int = 0, c: int = 0, d: int = 0) -> int:
    """prctl(2)."""
    args = [ctypes.c_ulong(value) for value in (a, b, c, d)]
    return _check(_libc.prctl(ctypes.c_int(option), *args), f"prctl {option}")


def drop_capabilities() -> None:
    """Empty the effective, permitted and inheritable sets (capset(2), version 3)."""
    header = struct.pack("=Ii", 0x20080522, 0)
    _check(_libc.capset(ctypes.c_char_p(header), ctypes.c_char_p(bytes(24))), "capset")


def close_range(first: int) -> None:
    """Close every descriptor from `first` on (close_range(2), Linux 5.9)."""
    _raw("close_range", _CLOSE_RANGE, ctypes.c_uint(first), ctypes.c_uint(0xFFFFFFFF), ctypes.c_uint(0))


MADV_POPULATE_WRITE = 23
"""Prefault a range for writing (Linux 5.14)."""
MADV_COLLAPSE = 25
"""Move a range into huge pages now (Linux 6.1)."""


def madvise(address: int, length: int, advice: int) -> None:
    """See madvise(2)."""
    _check(_libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(length), ctypes.c_int(advice)), "madvise")


def readable(fd: int, timeout: float = 0.0) -> bool:
    """Whether a descriptor is readable, or ended, within `timeout` seconds; any number, unlike with select(2)."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(timeout * 1000))


def clearenv() -> None:
    """Empty the C library's `environ` (clearenv(3)); `os.environ` is the caller's to clear."""
    _check(_libc.clearenv(), "clearenv")


def flush_streams() -> None:
    """Write out what the C library still holds for its streams (fflush(3)); errors are the streams' own."""
    _libc.fflush(None)


def environ_strings() -> tuple[str, ...]:
    """The C library's environment (environ(7)), which is what a child gets."""
    environ = ctypes.POINTER(ctypes.c_char_p).in_dll(_libc, "environ")
    found: list[str] = []
    while environ and (entry := environ[len(found)]) is not None:
        found.append(os.fsdecode(entry))
    return tuple(found)


def openat2(dirfd: int, path: str, flags: int, resolve: int) -> int:
    """Open below `dirfd` under RESOLVE_* rules (openat2(2), Linux 5.6)."""
    if "\0" in path:
        raise ValueError("openat2: embedded null byte")
    how = struct.pack("=QQQ", flags | os.O_CLOEXEC, 0, resolve)
    return _raw("openat2", _OPENAT2, ctypes.c_int(dirfd), ctypes.c_char_p(os.fsencode(path)),
                ctypes.c_char_p(how), ctypes.c_size_t(len(how)))  # fmt: skip


def load_seccomp(program: bytes) -> None:
    """Install a BPF program for this thread (seccomp(2), SECCOMP_SET_MODE_FILTER); no_new_privs must be set."""
    if not program or len(program) % 8:
        raise ValueError("a seccomp program is a positive number of 8-byte instructions")
    code = ctypes.create_string_buffer(program, len(program))
    fprog = struct.pack("=HxxxxxxQ", len(program) // 8, ctypes.addressof(code))
    _raw("seccomp", _SECCOMP, ctypes.c_uint(1), ctypes.c_uint(0), ctypes.c_char_p(fprog))


def seccomp_filters(pid: int) -> list[bytes]:
    """The BPF programs that the kernel has loaded for another process, oldest first, stopping it for a moment.

    ptrace(2), PTRACE_SECCOMP_GET_FILTER: needs CAP_SYS_ADMIN over the host; raises OSError. Empty: it has no filter.
    """
    seize, interrupt, get_filter, detach = 0x4206, 0x4207, 0x420C, 17

    def ptrace(request: int, address: int, data: object) -> int:
        arguments = (ctypes.c_long(request), ctypes.c_int(pid), ctypes.c_void_p(address))
        return _check(int(_libc.ptrace(*arguments, data)), f"ptrace {request:#x}")

    found: list[bytes] = []
    ptrace(seize, 0, None)
    try:
        ptrace(interrupt, 0, None)
        os.waitpid(pid, 0x40000000)  # __WALL
        while True:
            try:
                count = ptrace(get_filter, len(found), None)
            except OSError as error:
                if error.errno in (2, 22):  # ENOENT: no more of them; EINVAL: it has none
                    return found
                raise
            program = ctypes.create_string_buffer(count * 8)
            ptrace(get_filter, len(found), program)
            found.append(program.raw)
    finally:
        ptrace(detach, 0, None)


def landlock_abi() -> int:
    """Best Landlock ABI of this kernel, 0 if it has none (landlock_create_ruleset(2))."""
    try:
        return _raw("landlock", _LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint(1))
    except OSError:
        return 0


def landlock_restrict(abi: int, beneath: list[tuple[str, int]], *, tcp: bool) -> None:
    """Restrict this thread to `beneath`: (directory, allowed LANDLOCK_ACCESS_FS_* bits); scopes get nothing.

    Every right that the ABI knows is handled, so what is not granted is denied (landlock(7)); with `tcp` those of TCP
    are not.
    """
    filesystem = (1 << {1: 13, 2: 14, 3: 15, 4: 15}.get(abi, 16)) - 1
    network = 0b11 if abi >= 4 and not tcp else 0
    scopes = LANDLOCK_SCOPES if abi >= 6 else 0
    attr = struct.pack("=QQQ", filesystem, network, scopes)[: 8 if abi < 4 else 16 if abi < 6 else 24]
    ruleset = _raw("landlock_create_ruleset", _LANDLOCK_CREATE_RULESET, ctypes.c_char_p(attr),
                   ctypes.c_size_t(len(attr)), ctypes.c_uint(0))  # fmt: skip
    try:
        for path, access in beneath:
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
            try:
                rule = struct.pack("=Qi", access & filesystem, fd)
                _raw("landlock_add_rule", _LANDLOCK_ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(1),
                     ctypes.c_char_p(rule), ctypes.c_uint(0))  # fmt: skip
            finally:
                os.close(fd)
        _raw("landlock_restrict_self", _LANDLOCK_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint(0))
    finally:
        os.close(ruleset)
