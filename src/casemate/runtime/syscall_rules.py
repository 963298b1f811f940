"""What the arguments of a permitted call may be, as data: for each call alternatives, each a few words to match.

Pure. A filter sees the six argument words and no memory. An `int` of the kernel's is the low half of its word: what
stands above must not count (CVE-2019-10063), so those are compared under a mask.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

INT, WORD = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF


@dataclass(frozen=True, slots=True)
class Match:
    """Holds if `arguments[index] & mask == value`."""

    index: int
    mask: int
    value: int


Alternatives = tuple[tuple[Match, ...], ...]


def _one_of(index: int, values: Iterable[int], mask: int = INT) -> Alternatives:
    return tuple((Match(index, mask, value),) for value in values)


_REQUESTS = _one_of(1, (0x5401, 0x802C542A, 0x5413, 0x541B, 0x5450, 0x5451, 0x5421))
TERMINAL: Alternatives = _REQUESTS + _one_of(1, (
    0x5402, 0x5403, 0x5404, 0x402C542B, 0x402C542C, 0x402C542D,  # TCSETS, TCSETSW, TCSETSF; with glibc 2.42 TCSETS2 …
    0x5409, 0x540A, 0x540B,  # TCSBRK, TCXONC, TCFLSH: drain, flow, flush
    0x540E, 0x5422, 0x540F, 0x5410, 0x5429,  # TIOCSCTTY, TIOCNOTTY, TIOCGPGRP, TIOCSPGRP, TIOCGSID: job control
    0x5414, 0x80045430, 0x40045431, 0x5441,  # TIOCSWINSZ, TIOCGPTN, TIOCSPTLCK, TIOCGPTPEER: openpty(3)
))  # fmt: skip
"""ioctl(2) where the profile gives terminals: what shells, openpty(3) and tcsetattr(3) ask of one of their own. Still
neither TIOCSTI nor TIOCLINUX, nor TIOCSETD: line disciplines are drivers of their own (CVE-2017-2636)."""
_PROT_WRITE, _PROT_EXEC = 2, 4
_MAP_PRIVATE, _MAP_ANONYMOUS, _MAP_TYPE = 0x02, 0x20, 0x0F
_NO_CODE = Match(2, _PROT_EXEC, 0)
# O_ACCMODE, O_CREAT, O_TRUNC, O_TMPFILE's own bit (open(2)).
_WRITING = 0o3 | 0o100 | 0o1000 | 0o20000000
_FIFO, _FORMAT = 0o010000, 0o170000
_FCNTL, _LOCKS = (0, 1, 2, 3, 4, 1030, 1032), (5, 6, 7, 36, 37, 38)

RULES: dict[str, Alternatives] = {
    # What the C library asks of clone(2), and nothing else: fork() (CHILD_SETTID | CHILD_CLEARTID | SIGCHLD), vfork()
    # and posix_spawn() (VM | VFORK | SIGCHLD), pthread_create() (VM | FS | FILES | SIGHAND | THREAD | SYSVSEM | SETTLS
    # | PARENT_SETTID | CHILD_CLEARTID, glibc with and without DETACHED). A list of flags to refuse would have to be
    # complete: CLONE_PARENT makes a child of the template's, any of the NEW ones a namespace.
    "clone": _one_of(0, (0x01200011, 0x00004111, 0x003D0F00, 0x007D0F00, 0x00000011), WORD),
    # Duplicates, close-on-exec, status flags, the size of a pipe. Not the owner and signal of a descriptor (it would
    # send signals), leases and directory notices (they make others wait, or signal), a pipe's size (memory of the
    # kernel's, counted for each user), seals; and no locks: those on a file of the image are seen in every sandbox.
    "fcntl": _one_of(1, _FCNTL),
    # isatty (TCGETS; from glibc 2.42 TCGETS2), window size, bytes waiting, close-on-exec and not, non-blocking
    # (ioctl_tty(2)). Not TIOCSTI and TIOCLINUX, which put input into a terminal, nor anything of a device.
    "ioctl": _REQUESTS,
    # Native code comes from files of the image and from nowhere else: no page is writable and executable, none becomes
    # executable later, and no executable one is anonymous or shared, since mremap(2) would give it a second, writable
    # address. /tmp is mounted noexec, /proc/self/mem is on a read-only mount, and no set has memfd_create.
    "mmap": ((_NO_CODE,), (Match(2, _PROT_WRITE | _PROT_EXEC, _PROT_EXEC),
                           Match(3, _MAP_TYPE | _MAP_ANONYMOUS, _MAP_PRIVATE))),
    "mprotect": ((_NO_CODE,),),
    # Own limits only. Of another process they could be lowered to zero.
    "prlimit64": _one_of(0, (0,)),
    # PR_SET_NAME, PR_GET_NAME: of the calling thread.
    "prctl": _one_of(0, (15, 16)),
    # ARCH_SET_FS: the C library's start.
    "arch_prctl": _one_of(0, (0x1002,)),
    "socketpair": _one_of(0, (1,)),
    # Named pipes. Devices would need a capability; the rule does not rely on that.
    "mknod": ((Match(1, _FORMAT, _FIFO),),),
    "mknodat": ((Match(2, _FORMAT, _FIFO),),),
}  # fmt: skip
"""The same for every set that has the call."""

VARIANTS: dict[tuple[str, str], Alternatives] = {
    # As above, but a private page of one's own may be both: ctypes callbacks, regular expressions that are compiled.
    ("mmap", "own-code"): ((_NO_CODE,), (Match(3, _MAP_TYPE, _MAP_PRIVATE),)),
    ("openat", "read-only"): ((Match(2, _WRITING, 0),),),
    # As above, and record locks of both kinds: sqlite3, dbm, mailbox.
    ("fcntl", "locks"): _one_of(1, _FCNTL + _LOCKS),
}
"""What a set may ask for instead, in its `[arguments]` table: (call, name)."""

ANSWERS = {
    # So that the C library falls back to clone, whose flags can be read.
    "clone3": errno.ENOSYS,
    # As on a file system that has none: who copies a file takes that well, and EPERM not.
    **dict.fromkeys(
        (
            "getxattr", "lgetxattr", "fgetxattr", "listxattr", "llistxattr", "flistxattr",
            "setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr",
        ),
        errno.EOPNOTSUPP,
    ),
}  # fmt: skip
"""Calls that no set may have, and the errno that they get instead of EPERM; see also `sockets`."""

AF_UNIX, AF_INET, AF_INET6 = 1, 2, 10
_STREAM, _DGRAM, _SEQPACKET = 1, 2, 5
_TYPE = INT & ~(0o2000000 | 0o4000)  # without SOCK_CLOEXEC and SOCK_NONBLOCK
FAMILIES = 64
"""Above every address family that there is (AF_MAX)."""


def sockets(*, unix: bool, inet: bool) -> Alternatives:
    """What socket(2) may make: AF_UNIX of three types; TCP, protocol 0 or 6, since MPTCP, SCTP and SMC are streams too.

    Another family is EAFNOSUPPORT: imports probe for IPv6.
    """
    local = tuple((Match(0, INT, AF_UNIX), Match(1, _TYPE, kind)) for kind in (_STREAM, _DGRAM, _SEQPACKET))
    tcp = tuple(
        (Match(0, INT, family), Match(1, _TYPE, _STREAM), Match(2, INT, protocol))
        for family in (AF_INET, AF_INET6)
        for protocol in (0, 6)
    )
    return (local if unix else ()) + (tcp if inet else ())


def permits(alternatives: Alternatives, arguments: Sequence[int]) -> bool:
    """Whether one of them matches."""
    return any(all(arguments[m.index] & m.mask == m.value for m in matches) for matches in alternatives)
