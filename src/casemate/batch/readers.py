"""What the command line names, as rows: scripts, directories, JSONL, parquet, and `-` for JSONL on standard input.

Rows come one by one: no file is read whole but a script's own. Files are read by their descriptors, without a buffer
above them: a thread that waits in a read holds no lock that the end of the process would want.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from casemate.batch import parquet
from casemate.batch.rows import CHUNK, LONGEST_SOURCE, Row, Why, lines, of_line, plain, refused
from casemate.errors import Denied

JSONL = (".jsonl", ".ndjson")
PARQUET = ".parquet"
STREAM = "-"


@dataclass(frozen=True, slots=True)
class Inputs:
    """The sources of a batch, in the order in which they were named, and the column that holds the script."""

    sources: tuple[str, ...]
    column: str = "source"

    @classmethod
    def of(cls, sources: Sequence[str], column: str = "source") -> Inputs:
        """Checked as far as that goes before a row is read.

        Raises Denied (standard input twice, parquet without its library or without the column), OSError for what is
        not there.
        """
        if not sources:
            raise Denied("no sources")
        if sum(source == STREAM for source in sources) > 1:
            raise Denied("standard input can be read once")
        for source in sources:
            if source != STREAM:
                os.stat(source)
            if _kind(source) == PARQUET:
                parquet.check(source, column)
        return cls(tuple(sources), column)

    def rows(self) -> Iterator[Row]:
        """All of them; a row that cannot be read is one that says so, and the next one is read."""
        for source in self.sources:
            kind = _kind(source)
            if kind == STREAM:
                yield from self._lines(0, STREAM)
            elif kind == "directory":
                yield from map(_script, below(source))
            elif kind == "lines":
                yield from self._file(source)
            elif kind == PARQUET:
                yield from parquet.rows(source, self.column)
            else:
                yield _script(source)

    def count(self) -> int | None:
        """How many rows there will be, about: blank lines count. None if nobody can know."""
        total = 0
        for source in self.sources:
            kind = _kind(source)
            if kind == STREAM or (kind == "lines" and not Path(source).is_file()):
                return None
            try:
                if kind == "directory":
                    total += sum(1 for _ in below(source))
                elif kind == "lines":
                    total += _newlines(source)
                else:
                    total += parquet.count(source) if kind == PARQUET else 1
            except OSError:
                return None
        return total

    def _file(self, source: str) -> Iterator[Row]:
        try:
            fd = os.open(source, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            yield _no_file(source, error)
            return
        try:
            yield from self._lines(fd, source)
        finally:
            os.close(fd)

    def _lines(self, fd: int, source: str) -> Iterator[Row]:
        place = plain(source)
        try:
            for number, line in lines(lambda size: os.read(fd, size)):
                yield of_line(f"{place}:{number}", line, self.column)
        except OSError as error:
            yield refused(place, Why.DAMAGED, f"it cannot be read on: {error.strerror}")


def below(directory: str) -> Iterator[str]:
    """The *.py files below a directory, each directory's names sorted; links are not followed, nor taken.

    Holds the names of the directories that it is in, not those of the whole tree.
    """
    inside = [_entries(directory)]
    while inside:
        entry = next(inside[-1], None)
        if entry is None:
            inside.pop()
        elif isinstance(entry, str):
            yield entry
        elif entry.is_dir(follow_symlinks=False):
            inside.append(_entries(entry.path))
        elif entry.name.endswith(".py") and entry.is_file(follow_symlinks=False):
            yield entry.path


def _entries(directory: str) -> Iterator[os.DirEntry[str] | str]:
    """What is in a directory, sorted; of one that cannot be read its own path, for a row that says so."""
    try:
        with os.scandir(directory) as found:
            return iter(sorted(found, key=lambda entry: entry.name))
    except OSError:
        return iter((directory,))


def _kind(source: str) -> str:
    if source == STREAM:
        return STREAM
    suffix = Path(source).suffix.lower()
    if os.path.isdir(source):
        return "directory"
    return "lines" if suffix in JSONL else PARQUET if suffix == PARQUET else "script"


def _script(path: str) -> Row:
    """A script file, as its bytes: whether they are UTF-8 is for the gate to say."""
    place = plain(path)
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            if stat.S_ISDIR(os.fstat(fd).st_mode):
                return refused(place, Why.NO_FILE, "a directory")
            data = bytearray()
            while len(data) <= LONGEST_SOURCE and (piece := os.read(fd, CHUNK)):
                data += piece
        finally:
            os.close(fd)
    except OSError as error:
        return _no_file(path, error)
    if len(data) > LONGEST_SOURCE:
        return refused(place, Why.TOO_LONG, f"a source of more than {LONGEST_SOURCE} bytes")
    return Row(place, None, bytes(data))


def _no_file(path: str, error: OSError) -> Row:
    return refused(plain(path), Why.NO_FILE, f"it cannot be read: {error.strerror}")


def _newlines(path: str) -> int:
    total, last = 0, b"\n"
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        while chunk := os.read(fd, 1 << 20):
            total, last = total + chunk.count(b"\n"), chunk[-1:]
    finally:
        os.close(fd)
    return total + (last != b"\n")
