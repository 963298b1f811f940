"""Results that are kept by content, in files of the user's own (mode 0700), shared by any number of maps at once.

    DIR/results/AB/KEY       SHA-256 of what follows, a line; {"key", "result", "usage"}
    DIR/files/AB/SHA256      a file that a script delivered
    DIR/new/                 what is being written; renamed into place when it is whole

An entry is believed if its digest, its key and its types are right, and every file of it has the bytes that its name
says; otherwise it is as if it were not there. This finds damage. Against somebody who may write here nothing is held:
that is the user himself. No sandbox sees this place.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from casemate.batch import results
from casemate.errors import Denied
from casemate.model import Artifact

LONGEST_ENTRY = 16 << 20
LEFT = 86_400.0
"""Seconds after which a file in `new` was left by a process that was killed."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A result that is kept: the JSON of a `MapResult` and of a `Usage`."""

    result: dict[str, Any]
    usage: dict[str, Any]


class Cache:
    """Safe from several threads and processes. What cannot be written is not kept, and `fault` says why."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.fault = ""
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = directory.stat()
        if found.st_uid != os.geteuid() or found.st_mode & 0o077:
            raise Denied(f"the cache {directory} must be yours alone (chmod 700), for it decides what a script gave")
        for name in ("results", "files", "new"):
            (directory / name).mkdir(mode=0o700, exist_ok=True)
        self._sweep()

    def get(self, key: str) -> Entry | None:
        """The result that is kept under this key, None if there is none that can be believed."""
        data = self._read(self._directory / "results" / key[:2] / key, LONGEST_ENTRY)
        if data is None or data[64:65] != b"\n" or data[:64] != _hex(data[65:]):
            return None
        try:
            found = json.loads(data[65:])
        except (ValueError, RecursionError):
            return None
        if not isinstance(found, dict) or set(found) != {"key", "result", "usage"} or found["key"] != key:
            return None
        return Entry(found["result"], found["usage"]) if results.valid(found["result"], found["usage"]) else None

    def file(self, sha256: str, size: int) -> bytes | None:
        """The file of these bytes, None if it is not there whole."""
        data = self._read(self._directory / "files" / sha256[:2] / sha256, size)
        return data if data is not None and len(data) == size and _hex(data) == sha256.encode() else None

    def put(self, key: str, entry: Entry, artifacts: Iterable[Artifact]) -> None:
        """Keep a result with its files, files first."""
        body = results.line({"key": key, "result": entry.result, "usage": entry.usage})
        if len(body) + 65 > LONGEST_ENTRY:
            return
        try:
            for artifact in artifacts:
                self._write("files", artifact.sha256, artifact.data)
            self._write("results", key, _hex(body) + b"\n" + body)
        except OSError as error:
            self.fault = f"{error.strerror}: {error.filename or self._directory}"

    def _read(self, path: Path, most: int) -> bytes | None:
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            return None
        try:
            found = os.fstat(fd)
            if not stat.S_ISREG(found.st_mode) or found.st_size > most:
                return None
            with open(fd, "rb", closefd=False) as file:
                return file.read(found.st_size)  # a buffer of as many bytes is made at once
        except OSError:
            return None
        finally:
            os.close(fd)

    def _write(self, kind: str, name: str, data: bytes) -> None:
        place = self._directory / kind / name[:2]
        place.mkdir(mode=0o700, exist_ok=True)
        fd, temporary = tempfile.mkstemp(dir=self._directory / "new")
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(data)
            os.replace(temporary, place / name)
        except BaseException:
            os.unlink(temporary)
            raise

    def _sweep(self) -> None:
        for path in (self._directory / "new").iterdir():
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > LEFT:
                    path.unlink()


def _hex(data: bytes) -> bytes:
    return hashlib.sha256(data).hexdigest().encode()
