"""A stand-in for the run of a source, where what is tested is what stands around runs: results made up from sources."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from casemate.batch import Batch, Cache, Done, Output, Row
from casemate.batch.keys import Terms
from casemate.control.runs import Cancellation
from casemate.model import (
    Artifact,
    Enforcement,
    Layer,
    Limit,
    Outcome,
    Part,
    Reason,
    RunResult,
    Stage,
    Stream,
    Usage,
    Verdict,
)

TERMS = Terms("profile", "image", ())


def artifact(data: bytes, name: str = "part.step") -> Artifact:
    return Artifact(name, data, hashlib.sha256(data).hexdigest())


def result(
    outcome: Outcome, stdout: bytes = b"", files: Iterable[Artifact] = (), parts: tuple[Part, ...] = ()
) -> RunResult:
    return RunResult(
        "0123456789abcdef", outcome, Stream(stdout, len(stdout), False), Stream(b"", 0, False), parts,
        {file.name: file for file in files}, Usage(0.25, 0.125, 1 << 20, 1),
        Enforcement("cad", TERMS.profile_digest, TERMS.image_digest, (Layer("guest.seccomp", True),)), True,
    )  # fmt: skip


def part(data: bytes) -> RunResult:
    """A part whose file has these bytes."""
    well = Outcome(Reason.EXITED, Stage.DONE, exit_code=0, verdict=Verdict.PART)
    return result(well, b"made\n", [artifact(data)], (Part("part", Verdict.PART, "part.step"),))


class Runs:
    """Gives a part for each source; one that begins with `lost` or `slow` ends as that says. Counts what it ran."""

    def __init__(self) -> None:
        self.ran: Counter[bytes] = Counter()
        self._lock = threading.Lock()

    def __call__(self, source: bytes, cancellation: Cancellation) -> RunResult:
        with self._lock:
            self.ran[source] += 1
        if source.startswith(b"lost"):
            return result(Outcome(Reason.LOST, Stage.GATE, message="ours"))
        if source.startswith(b"slow"):
            return result(Outcome(Reason.LIMIT, Stage.SCRIPT, limit=Limit.WALL_TIME))
        return part(b"ISO-10303-21;" + source)


def rows(*sources: bytes) -> Iterator[Row]:
    return (Row(f"rows.jsonl:{number}", None, source) for number, source in enumerate(sources, 1))


def mapped(
    run: Runs, given: Iterator[Row], directory: Path, cache: Path | None, *, jobs: int = 2, usage: bool = False
) -> list[Done]:
    """All rows of one map."""
    with Output(directory) as output:
        kept = None if cache is None else Cache(cache)
        return list(Batch(run, TERMS, output, kept, usage=usage).done(given, jobs))
