"""Directories that go with us: at the end, or, if we were killed, with the next of them that is made beside.

Each is locked for as long as its maker lives; the kernel lets go of a lock with the last process that holds it
(flock(2)). So what is there and not locked is nobody's.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PREFIX = "casemate-verify-"


@contextmanager
def directory(parent: Path, mode: int) -> Iterator[Path]:
    """One below `parent`, empty; raises OSError."""
    for left in parent.glob(f"{PREFIX}*"):
        _remove_unheld(left)
    made, lock = _made(parent)
    try:
        made.chmod(mode)
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)
        os.close(lock)


def _made(parent: Path) -> tuple[Path, int]:
    """One that is ours and locked: another may take a new one for nobody's before it is."""
    while True:
        made = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
        with contextlib.suppress(FileNotFoundError):
            if (lock := _locked(made)) >= 0:
                if os.fstat(lock).st_nlink:
                    return made, lock
                os.close(lock)


def _remove_unheld(path: Path) -> None:
    with contextlib.suppress(OSError):
        if path.lstat().st_uid == os.geteuid() and (lock := _locked(path)) >= 0:
            shutil.rmtree(path, ignore_errors=True)
            os.close(lock)


def _locked(path: Path) -> int:
    """A descriptor that holds the lock, or -1; raises OSError for what is no directory."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        return -1
    return fd
