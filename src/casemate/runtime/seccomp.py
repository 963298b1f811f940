"""Compiles a named system call set to BPF with libseccomp, once for each process; the launcher loads the bytes.

A set is commented data (`profiles/syscalls/NAME.toml`): groups of calls, each with its reason. The rules that concern
arguments are the same for every set and stand here, beside the reason. Sources: seccomp(2), seccomp_rule_add(3).
"""

from __future__ import annotations

import base64
import errno
import functools
import socket
import tempfile
import tomllib
from importlib import resources

import pyseccomp

from casemate.errors import PolicyError

# What the C library asks of clone(2), and nothing else: fork() (CHILD_SETTID | CHILD_CLEARTID | SIGCHLD), vfork() and
# posix_spawn() (VM | VFORK | SIGCHLD), pthread_create() (VM | FS | FILES | SIGHAND | THREAD | SYSVSEM | SETTLS |
# PARENT_SETTID | CHILD_CLEARTID, glibc with and without DETACHED). A list of flags to refuse would have to be complete:
# CLONE_PARENT makes a child of the template's, any of the NEW ones a namespace.
_CLONE_FLAGS = (0x01200011, 0x00004111, 0x003D0F00, 0x007D0F00, 0x00000011)
# isatty, window size, bytes waiting, close-on-exec, non-blocking (ioctl_tty(2)); not TIOCSTI, not TIOCLINUX.
_IOCTLS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)


def names(name: str) -> tuple[str, ...]:
    """The calls of a set, in the file's order; raises PolicyError for an unknown or malformed one."""
    file = resources.files("casemate") / "profiles" / "syscalls" / f"{name}.toml"
    if not name.replace("-", "").isalnum() or not file.is_file():
        raise PolicyError(f"no system call set named {name!r}")
    try:
        groups = tomllib.loads(file.read_text("utf-8"))["groups"]
        calls = [str(call) for group in groups.values() for call in group["calls"]]
        whole = all(group["why"].strip() for group in groups.values()) and len(calls) == len(set(calls)) > 0
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise PolicyError(f"system call set {name!r}: {error!r}") from None
    if not whole:
        raise PolicyError(f"system call set {name!r}: a call twice, or a group without a reason")
    return tuple(calls)


@functools.cache
def compiled(name: str) -> str:
    """The BPF program of a set, base64, for this machine's architecture."""
    # x32 numbers and foreign architectures are killed: libseccomp's default for what is not in the filter.
    rules = pyseccomp.SyscallFilter(pyseccomp.ERRNO(errno.EPERM))
    for call in names(name):
        if call == "clone":
            for flags in _CLONE_FLAGS:
                rules.add_rule(pyseccomp.ALLOW, call, pyseccomp.Arg(0, pyseccomp.EQ, flags))
        elif call == "socketpair":
            rules.add_rule(pyseccomp.ALLOW, call, pyseccomp.Arg(0, pyseccomp.EQ, socket.AF_UNIX))
        elif call == "prlimit64":
            rules.add_rule(pyseccomp.ALLOW, call, pyseccomp.Arg(0, pyseccomp.EQ, 0))
        elif call == "ioctl":
            # Only the low 32 bits count for the kernel (CVE-2019-10063): compare those.
            for request in _IOCTLS:
                rules.add_rule(pyseccomp.ALLOW, call, pyseccomp.Arg(1, pyseccomp.MASKED_EQ, 0xFFFFFFFF, request))
        else:
            rules.add_rule(pyseccomp.ALLOW, call)
    # So that the C library falls back to clone, whose flags can be read.
    rules.add_rule(pyseccomp.ERRNO(errno.ENOSYS), "clone3")
    # Imports probe for IPv6; the others are simply not there.
    rules.add_rule(pyseccomp.ERRNO(errno.EAFNOSUPPORT), "socket")
    with tempfile.TemporaryFile() as file:
        rules.export_bpf(file)
        file.seek(0)
        return base64.b64encode(file.read()).decode("ascii")
