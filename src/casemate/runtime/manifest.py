"""One digest over a file tree, and the rules that an image's tree must keep.

The digest depends on paths, kinds, modes, sizes and contents, and on nothing else: not on owners, times, inode
numbers or the order in which a directory happens to be read.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from casemate.errors import SandboxFault


@dataclass(frozen=True, slots=True)
class Entry:
    """One path of a tree; `content` is the SHA-256 of a file or the target of a link."""

    path: str
    kind: str
    mode: int
    size: int
    content: str


def scan(root: Path) -> tuple[Entry, ...]:
    """Read a tree, sorted by path; a file that an image must not hold raises `SandboxFault`."""
    return tuple(sorted(_entries(root), key=lambda entry: os.fsencode(entry.path)))


def digest(entries: Iterable[Entry]) -> str:
    """SHA-256 over the entries in the order given, one JSON array a line (so that no path can pass for two)."""
    state = hashlib.sha256()
    for entry in entries:
        line = json.dumps([entry.path, entry.kind, f"{entry.mode:04o}", entry.size, entry.content])
        state.update(line.encode("ascii") + b"\n")
    return state.hexdigest()


def _entries(root: Path) -> Iterator[Entry]:
    pending = [root]
    while pending:
        directory = pending.pop()
        with os.scandir(directory) as children:
            for child in children:
                path = Path(child.path)
                entry = _entry(root, path, child.stat(follow_symlinks=False))
                if entry.kind == "directory":
                    pending.append(path)
                yield entry


def _entry(root: Path, path: Path, status: os.stat_result) -> Entry:
    name = str(path.relative_to(root))
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISLNK(status.st_mode):
        target = os.readlink(path)
        _check_link(root, path, target)
        return Entry(name, "link", 0o777, len(os.fsencode(target)), target)
    if mode & (stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX):
        raise SandboxFault(f"image file {name} has mode {mode:04o}: no set-id or sticky bit is allowed")
    if mode & 0o022:
        raise SandboxFault(f"image file {name} has mode {mode:04o}: others can write it")
    if stat.S_ISDIR(status.st_mode):
        if mode & 0o555 != 0o555:
            raise SandboxFault(f"image directory {name} has mode {mode:04o}: not everyone can read it")
        return Entry(name, "directory", mode, 0, "")
    if not stat.S_ISREG(status.st_mode):
        raise SandboxFault(f"image file {name} is neither a file, a directory nor a symbolic link")
    if mode & 0o444 != 0o444:
        raise SandboxFault(f"image file {name} has mode {mode:04o}: not everyone can read it")
    with path.open("rb") as stream:
        return Entry(name, "file", mode, status.st_size, hashlib.file_digest(stream, "sha256").hexdigest())


def _check_link(root: Path, path: Path, target: str) -> None:
    """Refuse a link that leaves the tree; seen from the host, an absolute one does."""
    if target.startswith("/") or not path.resolve().is_relative_to(root.resolve()):
        raise SandboxFault(f"image link {path.relative_to(root)} points outside the image: {target}")
