"""Takes files out of a stopped sandbox by descriptor, never by path of the host.

The job directory's descriptor came from init before the guest lived; the sandbox is dead by now, so nothing races. A
name that the guest chose is only ever opened below that descriptor, without following any link or mount
(openat2(2), RESOLVE_BENEATH), and what is opened must be a regular file with one name.
"""

from __future__ import annotations

import hashlib
import os
import stat
import unicodedata
from collections.abc import Iterator

from casemate.launcher import syscalls
from casemate.model import Artifact
from casemate.runtime import capacity

_RESOLVE = syscalls.RESOLVE_BENEATH | syscalls.RESOLVE_NO_SYMLINKS | syscalls.RESOLVE_NO_XDEV
"""No link anywhere in a path, the last part and magic links included (openat2(2)), and no mount."""
_CHUNK = 1 << 20
_DEPTH, _LENGTH, _ENTRIES, _TOLD = 16, 1024, 20_000, 50
"""Of a tree: levels, bytes of a path, names that are looked at, refusals that are told one by one."""


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
        # O_NONBLOCK: opening a FIFO must not wait for a writer (open(2)). No terminal can be there: the tmpfs is nodev.
        flags = os.O_RDONLY | os.O_NONBLOCK
        try:
            fd = syscalls.openat2(self._directory, path, flags, _RESOLVE)
        except (OSError, ValueError) as error:
            capacity.require(error)
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


def tree(collector: Collector, directory: int, below: str) -> tuple[dict[str, Artifact], tuple[str, ...]]:
    """Every regular file below a subdirectory, by its path there, and what was left behind, each with its reason.

    What is no regular file, has several names or a name that could do harm elsewhere is left. Raises OverLimit.
    """
    files: dict[str, Artifact] = {}
    left: list[str] = []
    taken: dict[str, str] = {}
    for path, why in _walk(directory, below):
        try:
            if why:
                raise Refused(why)
            folded = unicodedata.normalize("NFKC", path).casefold()
            if folded in taken:
                raise Refused(f"{path!a}: too much like {taken[folded]!a}")
            files[path] = collector.take(f"{below}/{path}", path)
            taken[folded] = path
        except OverLimit:
            raise
        except Refused as refusal:
            left.append(str(refusal))
    if len(left) > _TOLD:
        left = [*left[:_TOLD], f"{len(left) - _TOLD} more were left"]
    return files, tuple(left)


def _walk(directory: int, below: str) -> Iterator[tuple[str, str]]:
    """Path below `below`, and "" or why it is not to be taken; directories are opened as files are."""
    pending, seen = [""], 0
    while pending:
        place = pending.pop()
        path = f"{below}/{place}" if place else below
        try:
            fd = syscalls.openat2(directory, path, os.O_RDONLY | os.O_DIRECTORY, _RESOLVE)
        except FileNotFoundError:
            continue
        except OSError as error:
            capacity.require(error)
            yield place, f"{place or below!a}: {error.strerror}"
            continue
        try:
            with os.scandir(fd) as entries:
                found = []
                for entry in entries:
                    seen += 1
                    if seen > _ENTRIES:
                        raise OverLimit("artifact_count", f"{below}: more than {_ENTRIES} names")
                    found.append((entry.name, entry.is_dir(follow_symlinks=False)))
        finally:
            os.close(fd)
        inner = []
        for name, is_directory in sorted(found):
            path = f"{place}/{name}" if place else name
            why = _objection(name) or _too_deep(path)
            if is_directory and not why:
                inner.append(path)
            else:
                yield path, why and f"{path!a}: {why}"
        pending += reversed(inner)


def _too_deep(path: str) -> str:
    if path.count("/") >= _DEPTH:
        return f"more than {_DEPTH} levels deep"
    return f"a path of more than {_LENGTH} bytes" if len(path.encode()) > _LENGTH else ""


def _objection(name: str) -> str:
    """What is wrong with one step of a path, or "": it will be shown to people, given to shells, put into addresses."""
    if name != unicodedata.normalize("NFC", name):
        return "a name that is not in normal form C"
    if name[0] in ".- ~" or name[-1] in ". ":
        return "a name that begins or ends with what tools take for something else"
    if not all(unicodedata.category(c)[0] in "LMN" or c in " ._-+=@,()[]" for c in name):
        return "a name with characters other than letters, digits and a few signs"
    return ""
