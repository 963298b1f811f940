"""What a guest left in its job directory: a regular file with one name below it is taken as it is, all else refused."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import stat
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from casemate.runtime.artifacts import Collector, Refused

SECRET = b"the host's own"
COUNT, EACH, TOTAL = 3, 1000, 2000


def check(data: bytes) -> str:
    """Build the tree of a case, {"make": [[what, path, argument]], "take": [path]}, and collect from it."""
    try:
        case = json.loads(data)
        steps, wanted = [tuple(step) for step in case["make"]], [str(path) for path in case["take"]]
        assert all(len(step) == 3 for step in steps)
    except (ValueError, TypeError, KeyError, AssertionError):
        return "no case"
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        (top / "secret").write_bytes(SECRET)
        job = top / "job"
        (job / "out").mkdir(parents=True)
        for step in steps:
            with contextlib.suppress(OSError, ValueError, RuntimeError):
                _make(job, *step)
        return _collect(job, wanted)


def _collect(job: Path, wanted: list[str]) -> str:
    directory = os.open(job, os.O_RDONLY | os.O_DIRECTORY)
    before = len(os.listdir("/proc/self/fd"))
    collector = Collector(directory, count=COUNT, each=EACH, total=TOTAL)
    taken: list[bytes] = []
    for path in wanted:
        try:
            artifact = collector.take(path, "name")
        except Refused:
            continue
        assert artifact.data == _expected(job, path), path
        assert SECRET not in artifact.data
        taken.append(artifact.data)
        assert len(os.listdir("/proc/self/fd")) == before
    assert len(taken) <= COUNT
    assert all(len(data) <= EACH for data in taken)
    assert sum(map(len, taken)) <= TOTAL
    os.close(directory)
    return f"{len(taken)} taken"


def _expected(job: Path, path: str) -> bytes | None:
    """By a walk of one's own: no step may leave the directory or be a link."""
    here = job
    for part in path.split("/"):
        if part in ("", "."):
            continue
        here = here.parent if part == ".." else here / part
        assert here == job or job in here.parents
        if here.is_symlink():
            return None
    seen = here.lstat()
    return here.read_bytes() if stat.S_ISREG(seen.st_mode) and seen.st_nlink == 1 else None


def _make(job: Path, what: str, path: str, argument: Any) -> None:
    target = job / path.lstrip("/")
    inside = target.parent.resolve()
    if job.resolve() not in (inside, *inside.parents):
        return  # a guest cannot write there either
    if target.is_symlink() and what in ("file", "sparse", "mode"):
        return
    if what == "file":
        target.write_bytes(bytes([int(argument) % 251]) * int(argument))
    elif what == "sparse":
        with target.open("wb") as file:
            file.truncate(int(argument))
    elif what == "link":
        target.symlink_to(str(argument))
    elif what == "name":
        os.link(job / str(argument).lstrip("/"), target, follow_symlinks=False)
    elif what == "directory":
        target.mkdir()
    elif what == "fifo":
        os.mkfifo(target)
    elif what == "socket":
        with contextlib.chdir(target.parent), socket.socket(socket.AF_UNIX) as listener:
            listener.bind(target.name)
    elif what == "mode":
        target.chmod(int(argument) & 0o777)
    elif what == "gone":
        target.rename(job / "away")


# --- cases ------------------------------------------------------------------------------------------------------------

_NAMES = ("out", "a", "b", "0-0.brep", "part.step", "..", ".", "secret", "", "é", "a\0b", "proc")
_PATHS = st.lists(st.sampled_from(_NAMES), min_size=1, max_size=4).map("/".join) | st.sampled_from(
    ["out/0-0.brep", "out/part.step", "../secret", "out/../../secret", "/etc/passwd", "/proc/self/fd/0", "x" * 300]
)
_STEPS = st.one_of(
    st.tuples(st.sampled_from(["file", "sparse"]), _PATHS, st.sampled_from([0, 1, 999, 1000, 1001])),
    st.tuples(st.just("sparse"), _PATHS, st.sampled_from([1 << 20, 1 << 40])),
    st.tuples(st.sampled_from(["link", "name"]), _PATHS, _PATHS),
    st.tuples(st.sampled_from(["directory", "fifo", "socket", "gone"]), _PATHS, st.none()),
    st.tuples(st.just("mode"), _PATHS, st.integers(0, 0o777)),
)
TREES = st.builds(
    lambda make, take: json.dumps({"make": make, "take": take}).encode(),
    st.lists(_STEPS, max_size=12),
    st.lists(_PATHS, min_size=1, max_size=6),
)
