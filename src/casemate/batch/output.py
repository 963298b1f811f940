"""Where a batch leaves what it made, so that a run that was killed at any moment can go on.

    DIR/results.jsonl            the rows of a map that came to its end
    DIR/results.jsonl.partial    the rows so far, each written at once, by one write; renamed when all are there
    DIR/artifacts/SHA256.step    what they delivered, by content

A map that is begun again with the same command reads its partial rows beside its sources, and goes on behind the last
one that still belongs: same place, id, source and key, whole, with its files. What comes after it, be it half a line,
is cut off. One map at a time writes to a directory (flock on it).
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from casemate.batch.rows import lines
from casemate.control.files import UNFINISHED, write_file
from casemate.errors import Busy, SandboxFault

RESULTS, PARTIAL, ARTIFACTS = "results.jsonl", "results.jsonl.partial", "artifacts"
LONGEST_ROW = 16 << 20


class Output:
    """A directory of results, held for one map; use it in a `with` block."""

    def __init__(self, directory: Path) -> None:
        self.results = directory / RESULTS
        self._directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self._held = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            (directory / ARTIFACTS).mkdir(exist_ok=True)
            self._sweep()
            self._rows = os.open(
                directory / PARTIAL, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_APPEND, 0o644
            )
        except BaseException as error:
            os.close(self._held)
            if isinstance(error, BlockingIOError):
                raise Busy(f"another map writes to {directory}") from None
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._rows)
        os.close(self._held)

    def partial(self) -> Iterator[tuple[dict[str, Any], int]]:
        """The rows of a map that did not come to its end, each with where it ends; up to the first that is not whole.

        Whole: a line of JSON that was ended, an object whose files are there.
        """
        read = 0

        def piece(most: int) -> bytes:
            nonlocal read
            data = os.pread(self._rows, most, read)
            read += len(data)
            return data

        end = 0
        for _, text in lines(piece, LONGEST_ROW):
            if text is None:
                return
            end += len(text) + 1
            if os.pread(self._rows, 1, end - 1) != b"\n":
                return
            try:
                row = json.loads(text)
            except (ValueError, RecursionError):
                return
            if not isinstance(row, dict) or not self._delivered(row):
                return
            yield row, end

    def cut(self, end: int) -> None:
        """Forget what stands behind the first `end` bytes."""
        os.ftruncate(self._rows, end)

    def write(self, line: bytes) -> None:
        """One more row, with its end of line; a reader sees it as soon as this returns."""
        if os.write(self._rows, line) != len(line):
            raise OSError(28, "a row could not be written whole", str(self._directory / PARTIAL))

    def deliver(self, path: str, sha256: str, size: int, data: Callable[[], bytes | None]) -> bool:
        """Write a file below the directory unless it is there whole; False if `data` has not its bytes."""
        target = self._directory / path
        if self._whole(path, sha256, size):
            return True
        found = data()
        if found is None:
            return False
        if len(found) != size or _digest(found) != sha256:
            raise SandboxFault(f"{path}: not the bytes that were delivered")
        write_file(target, found)
        return True

    def finish(self) -> None:
        """All rows are there: they become the results, in one step."""
        os.fsync(self._rows)
        os.replace(self._directory / PARTIAL, self.results)

    def _sweep(self) -> None:
        """Remove what a map that was killed had not written whole; nobody else writes here."""
        with os.scandir(self._directory / ARTIFACTS) as entries:
            for entry in entries:
                if entry.name.startswith(UNFINISHED):
                    os.unlink(entry)

    def _whole(self, path: str, sha256: str, size: int) -> bool:
        try:
            fd = os.open(self._directory / path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
            with open(fd, "rb") as file:
                return os.fstat(fd).st_size == size and _digest(file.read(size + 1)) == sha256
        except OSError:
            return False

    def _delivered(self, row: dict[str, Any]) -> bool:
        """Whether every file that a row names is there with its bytes."""
        try:
            files = row["result"]["artifacts"].values() if row["result"] is not None else ()
            return all(
                self._whole(f"{ARTIFACTS}/{Path(file['path']).name}", file["sha256"], file["size"]) for file in files
            )
        except (KeyError, TypeError, AttributeError, ValueError):
            return False


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
