"""What a keeper holds on the host, so that no two hold the same and a dead one's is found again.

Everything is a file in the state directory under an flock(2): the kernel lets go of it when the keeper dies, however it
dies. `keeper-NAME` lists the cgroup directories that the keeper made; `uids-FIRST` stands for a block of host uids. A
keeper that starts takes the lock of every dead one's file and removes what it left.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import signal

from . import cgroups

_MADE = re.compile(r"/.+/casemate-(verify-)?[0-9]+-[0-9]+")
"""A group as a keeper, or a harness, names it: anything else in a record is not killed, and not removed."""

BLOCK = 4096
"""Uids of one keeper: two for each live sandbox, so some two thousand of those, and one for its rooms."""


class NoClaim(RuntimeError):
    """The state directory is not ours, or every uid block is taken."""


class State:
    """The state directory, opened and checked."""

    def __init__(self, path: str) -> None:
        os.makedirs(path, mode=0o700, exist_ok=True)
        seen = os.lstat(path)
        if seen.st_uid != os.geteuid() or seen.st_mode & 0o77 or not os.path.isdir(path) or os.path.islink(path):
            raise NoClaim(f"{path}: not a private directory of this user (mode 0700)")
        self.path = path

    def _locked(self, name: str) -> int | None:
        """A descriptor of the file, locked, or None if somebody has it."""
        fd = os.open(f"{self.path}/{name}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(fd).st_nlink == 0:
                raise BlockingIOError  # removed by a sweep between open and lock
        except BlockingIOError:
            os.close(fd)
            return None
        return fd

    def sweep(self) -> list[str]:
        """Remove what dead keepers left; returns their names. What is still busy stays for the next sweep."""
        swept = []
        for name in sorted(os.listdir(self.path)):
            if not name.startswith("keeper-"):
                continue
            fd = self._locked(name)
            if fd is None:
                continue
            try:
                gone = [_remove(directory) for directory in _recorded(os.read(fd, 1 << 20))]
                if all(gone):
                    os.unlink(f"{self.path}/{name}")
                    swept.append(name)
            finally:
                os.close(fd)
        return swept

    def keeper(self, name: str, directories: tuple[str, ...]) -> int:
        """Record a live keeper's cgroups, before they are made; the descriptor is the claim."""
        # A sweep that passes between open and lock takes the empty file for a dead keeper's: again, then.
        tries = (self._locked(f"keeper-{name}") for _ in range(100))
        fd = next((fd for fd in tries if fd is not None), None)
        if fd is None:
            raise NoClaim(f"keeper-{name} is held by another process")
        os.ftruncate(fd, 0)
        os.pwrite(fd, json.dumps(directories).encode(), 0)
        return fd

    def release_keeper(self, name: str) -> None:
        """Forget a keeper that removed everything itself."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{self.path}/keeper-{name}")

    def uids(self, first: int, count: int) -> tuple[int, int]:
        """Claim a block (first, BLOCK) of the range that no keeper holds and no process uses."""
        used = _uids_in_use()
        for start in range(first, first + count - BLOCK + 1, BLOCK):
            if any(start <= uid < start + BLOCK for uid in used):
                continue
            if self._locked(f"uids-{start}") is not None:
                return start, BLOCK
        raise NoClaim(f"no free block of {BLOCK} uids in {first}–{first + count - 1}")


def _recorded(text: bytes) -> list[str]:
    """The directories of a record; one that was cut while it was written names none."""
    try:
        found = json.loads(text)
    except ValueError:
        return []
    return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []


def _remove(directory: str) -> bool:
    """Kill what is in a dead keeper's cgroup and remove it; only a directory that a keeper can have made."""
    if not _MADE.fullmatch(directory):
        return True
    for path, _, _ in os.walk(directory):
        with contextlib.suppress(OSError), open(f"{path}/cgroup.procs", encoding="ascii") as file:
            for pid in file.read().split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
    return cgroups.remove_tree(directory)


def _uids_in_use() -> set[int]:
    used = set()
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                used.add(os.stat(f"/proc/{name}").st_uid)
                with open(f"/proc/{name}/status", encoding="ascii", errors="replace") as file:
                    line = next((line for line in file if line.startswith("Uid:")), "Uid:")
                    used.update(int(uid) for uid in line.split()[1:])
    return used
