"""Records which system calls a guest makes once its filter is loaded, from outside, with strace(1).

strace is attached to a keeper and everything below it and follows every fork. A process counts from the moment it has
loaded a filter, and so do its children; what keeper, zygote, template and init do does not. Numbers are not decoded,
so a traced process's memory is not read, and the argument words are the ones that a filter sees.
"""

from __future__ import annotations

import re
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from casemate.runtime import process

_CALL = re.compile(r"(\w+)\(([^)]*?)(?:\)|<unfinished)")
_FLAGS = re.compile(r"flags=([0-9a-fx|]+)")
_RESULT = re.compile(r"(?:(\w+)\(|<\.\.\. (\w+) resumed>).*= (-?\w+)(?: .*?/\* (\d+) in strace's PID NS \*/)?")
_FORKS = frozenset({"clone", "clone3", "fork", "vfork"})

ATTACH_TIMEOUT = 20.0

Call = tuple[str, tuple[int, ...]]
"""Name and argument words."""


class Tree:
    """Which processes count; fed with strace's lines in their order."""

    def __init__(self) -> None:
        self._counts: dict[int, bool] = {}
        self._early: dict[int, list[str]] = defaultdict(list)
        """Lines of processes whose parent's fork has not returned yet."""

    def attached(self, pids: Iterable[int]) -> None:
        """Processes that were there before; none of them is a guest."""
        self._counts.update(dict.fromkeys(pids, False))

    def feed(self, line: str) -> list[Call]:
        """The calls that count, of one line "PID name(words) = result"."""
        head, _, rest = line.strip().partition(" ")
        pid, rest = int(head), rest.strip()
        if pid not in self._counts:
            self._early[pid].append(rest)
            return []
        return self._line(pid, rest)

    def _line(self, pid: int, rest: str) -> list[Call]:
        if rest.startswith("+++"):
            del self._counts[pid]
            return []
        found: list[Call] = []
        if (call := _CALL.match(rest)) and self._counts[pid]:
            flags = _FLAGS.search(rest) if call[1] in _FORKS else None
            words = call[2].replace(" ", "").split(",") if call[2].strip() and call[1] not in _FORKS else []
            numbers = [sum(int(flag, 0) for flag in flags[1].split("|"))] if flags else [int(word, 0) for word in words]
            found.append((call[1], tuple(numbers)))
        if result := _RESULT.match(rest):
            found += self._returned(pid, result[1] or result[2], result[3], result[4])
        return found

    def _returned(self, pid: int, name: str, value: str, outside: str | None) -> list[Call]:
        if name == "seccomp" and value == "0":
            self._counts[pid] = True
        if name not in _FORKS or value == "?" or int(value, 0) <= 0:
            return []
        child = int(outside or str(int(value, 0)))
        self._counts[child] = self._counts[pid]
        found: list[Call] = []
        for line in self._early.pop(child, ()):
            found += self._line(child, line) if child in self._counts else []
        return found


class Recorder:
    """A running trace."""

    def __init__(self, output: Path, pids: Iterable[int]) -> None:
        self._file = output.open(encoding="utf-8", errors="replace")
        self._tree = Tree()
        self._tree.attached(pids)
        self._rest = ""

    def since(self) -> set[Call]:
        """The calls that count since the last time."""
        text = self._rest + self._file.read()
        *lines, self._rest = text.split("\n")
        return {call for line in lines if line for call in self._tree.feed(line)}

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


@contextmanager
def recorded(pids: Iterable[int]) -> Iterator[Recorder]:
    """Trace processes and all that they fork, until the block ends; raises SandboxFault if strace cannot."""
    wanted = set(pids)
    with tempfile.TemporaryDirectory(prefix="casemate-trace-") as directory:
        output = Path(directory) / "calls"
        output.touch()
        with process.traced(sorted(wanted), output, ATTACH_TIMEOUT):
            recorder = Recorder(output, wanted)
            try:
                yield recorder
            finally:
                recorder.close()


def below(pid: int) -> set[int]:
    """A process and its descendants (proc(5), children)."""
    found, open_ends = {pid}, [pid]
    while open_ends:
        children = Path(f"/proc/{open_ends.pop()}/task")
        for task in children.iterdir():
            for child in (task / "children").read_text("ascii").split():
                found.add(int(child))
                open_ends.append(int(child))
    return found
