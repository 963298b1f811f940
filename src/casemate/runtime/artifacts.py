"""Takes files out of a stopped sandbox by descriptor, never by path of the host.

The job directory's descriptor came from init before the guest lived; the sandbox is dead by now, so nothing races. A
name that the guest chose is only ever opened below that descriptor, without following any link or mount
(openat2(2), RESOLVE_BENEATH), and what is opened must be a regular file with one name.
"""

from __future__ import annotations

import hashlib
import os
import stat

from casemate.launcher import syscalls
from casemate.model import Artifact

_RESOLVE = (
    syscalls.RESOLVE_BENEATH | syscalls.RESOLVE_NO_SYMLINKS | syscalls.RESOLVE_NO_MAGICLINKS | syscalls.RESOLVE_NO_XDEV
)
_CHUNK = 1 << 20


class Refused(Exception):
    """A file that is not taken; says which and why."""


class OverLimit(Refused):
    """Refused because a limit of the profile says so; `limit` names it."""

    def __init__(self, limit: str, message: str) -> None:
        super().__init__(message)
        self.limit = limit


class Collector:
    """Takes files from one job directory, within count, size and total bounds."""

    def __init__(self, directory: int, *, count: int, each: int, total: int) -> None:
        self._directory = directory
        self._count, self._each, self._total = count, each, total

    def take(self, path: str, name: str) -> Artifact:
        """The regular file at `path` below the job directory, as an artifact called `name`; raises Refused."""
        if self._count <= 0:
            raise OverLimit("artifact_count", f"{name}: more files than the profile allows")
        # O_NONBLOCK: opening a FIFO must not wait for a writer (open(2)).
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY
        try:
            fd = syscalls.openat2(self._directory, path, flags, _RESOLVE)
        except (OSError, ValueError) as error:
            raise Refused(f"{name}: {error}") from None
        try:
            data = self._read(fd, name)
        finally:
            os.close(fd)
        self._count -= 1
        self._total -= len(data)
        return Artifact(name, data, hashlib.sha256(data).hexdigest())

    def _read(self, fd: int, name: str) -> bytes:
        seen = os.fstat(fd)
        if not stat.S_ISREG(seen.st_mode):
            raise Refused(f"{name}: not a regular file")
        if seen.st_nlink != 1:
            raise Refused(f"{name}: has {seen.st_nlink} names")
        if seen.st_size > self._each:
            raise OverLimit("artifact_bytes", f"{name}: {seen.st_size} bytes, the profile allows {self._each}")
        if seen.st_size > self._total:
            raise OverLimit("artifact_total_bytes", f"{name}: more bytes in all than the profile allows")
        parts = []
        left = seen.st_size
        while left and (part := os.read(fd, min(left, _CHUNK))):
            parts.append(part)
            left -= len(part)
        if left:
            raise Refused(f"{name}: ended {left} bytes early")
        return b"".join(parts)
