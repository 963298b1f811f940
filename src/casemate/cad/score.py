"""Scores generated shapes against references, as the published benchmarks do. All geometry is done in sandboxes.

    a script: gate, execute, inspect → its STEP ┐
    a STEP file ────────────────────────────────┴→ a sandbox with the reference → numbers, strictly parsed

What was not generated, does not run or is no part is invalid, and never left out: the ratio is over all, the means are
over the valid, as they are published.
"""

from __future__ import annotations

import os
import stat
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from casemate.cad.pairs import Item, Pair
from casemate.cad.protocols import DEFAULT, Protocol, protocol
from casemate.cad.summaries import METRICS, Counted, Summary, summary
from casemate.control.host import Host
from casemate.control.leases import LOCAL
from casemate.control.runs import Cancellation
from casemate.control.scoring import Comparison, Settings, Size
from casemate.errors import Busy, Denied, SandboxFault
from casemate.model import Reason, RunResult, Verdict

_SETTINGS = 4096
"""Bytes that the settings of a comparison may take beside both shapes."""
State = Literal["valid", "invalid", "unscored"]


@dataclass(frozen=True, slots=True)
class Score:
    """Of one pair; what is None could not be measured, and `message` says why.

    `state`: `unscored` if the reference is no part, or it was our own fault. `reason`: of an invalid shape why it is no
    part (`missing`, `unreadable`, a verdict, or how its script ended), of an unscored one `reference` or `lost`.
    `chamfer` (squared), `point_cloud`, `hausdorff` and `iogt` are as `guest/score.py` defines them, in the units of
    the normalisation. `volume_error` is |V - Vref| / Vref; `box_error` the largest of |L - Lref| / Lref over the three
    sides of the boxes; both of the shapes as they are. `iou_error` is one standard error of an estimate by
    `iou_samples` rays, 0 for a boolean; `iou_note` says why there is an estimate.
    """

    id: str
    difficulty: str
    state: State
    reason: str = ""
    message: str = ""
    chamfer: float | None = None
    point_cloud: float | None = None
    hausdorff: float | None = None
    iogt: float | None = None
    iou: float | None = None
    iou_method: Literal["boolean", "sampled"] | None = None
    iou_error: float | None = None
    iou_samples: int | None = None
    iou_note: str = ""
    volume_error: float | None = None
    box_error: float | None = None


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores in the references' order, summed up over all and by difficulty (where any has one)."""

    protocol: str
    settings: Settings
    profile: str
    scores: tuple[Score, ...]
    overall: Summary
    by_difficulty: dict[str, Summary]


def score(
    host: Host, pairs: Iterable[Pair], *, by: Protocol | str = DEFAULT, settings: Settings | None = None,
    profile: str = "cad", jobs: int = 1, progress: Callable[[Score], None] = lambda _: None,
) -> Scores:  # fmt: skip
    """Score every pair, `jobs` at a time; `settings` stand for the protocol's.

    Raises Denied for a bad profile or host, and OSError for a reference that cannot be opened; what is wrong with a
    generated shape, or with what a reference holds, is in its score.
    """
    if type(jobs) is not int or jobs < 1:
        raise ValueError(f"jobs is {jobs}: at least one is needed")
    chosen = protocol(by) if isinstance(by, str) else by
    given = settings or chosen.settings()
    scorer = _Scorer(host, given, profile)
    found = []
    for one in scorer.all(pairs, jobs):
        progress(one)
        found.append(one)
    return summed(chosen, given, profile, found)


def summed(by: Protocol, settings: Settings, profile: str, scores: Iterable[Score]) -> Scores:
    """Sum up scores that were made alike. Pure."""
    found = tuple(scores)
    penalty = by.penalty or {}
    groups = sorted({one.difficulty for one in found if one.difficulty})
    return Scores(
        by.name, settings, profile, found, summary([_counted(one) for one in found], penalty),
        {
            name: summary([_counted(one) for one in found if one.difficulty == name], penalty)
            for name in ([*groups, ""] if groups and any(not one.difficulty for one in found) else groups)
        },
    )  # fmt: skip


def _counted(one: Score) -> Counted:
    values = {name: value for name in METRICS if (value := getattr(one, name)) is not None}
    return Counted(one.state, one.reason, values, one.iou_method == "sampled")


class _Scorer:
    def __init__(self, host: Host, settings: Settings, profile: str) -> None:
        self._host, self._settings, self._profile = host, settings, profile
        self._lock = threading.Lock()
        self._running: set[Cancellation] = set()
        self._stopped = False
        # A bad profile or host is refused before anything runs.
        request = host.request("", profile, None, None, LOCAL, LOCAL)
        if request.program:
            raise Denied(f"profile {profile!r} is for plain programs: shapes are scored under a CAD profile")
        self._limits = request.plan.profile.limits

    def all(self, pairs: Iterable[Pair], jobs: int) -> Iterator[Score]:
        """In order; an error, or the consumer's end, kills what runs and waits for it."""
        waiting: deque[Future[Score]] = deque()
        with ThreadPoolExecutor(jobs, "casemate-score") as pool:
            try:
                for pair in pairs:
                    waiting.append(pool.submit(self.one, pair))
                    if len(waiting) >= 2 * jobs:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                with self._lock:
                    self._stopped = True
                    running = list(self._running)
                for future in waiting:
                    future.cancel()
                for cancellation in running:
                    cancellation.request()

    def one(self, pair: Pair) -> Score:
        """Of one pair."""
        cancellation = Cancellation()
        with self._lock:
            self._running.add(cancellation)
            if self._stopped:
                cancellation.request()
        try:
            return self._score(pair, cancellation)
        except (Busy, SandboxFault) as fault:
            return Score(pair.id, pair.difficulty, "unscored", "lost", str(fault))
        finally:
            with self._lock:
                self._running.discard(cancellation)

    def _score(self, pair: Pair, cancellation: Cancellation) -> Score:
        if pair.generated is None:
            return Score(pair.id, pair.difficulty, "invalid", "missing", "nothing was generated for this reference")
        reference = self._steps(pair.reference, cancellation)
        if isinstance(reference, _No):
            reason = "lost" if reference.ours else "reference"
            return Score(pair.id, pair.difficulty, "unscored", reason, f"the reference: {reference.message}")
        try:
            generated = self._steps(pair.generated, cancellation)
        except OSError as error:
            generated = _No("missing", f"it cannot be opened: {error.strerror}")
        if isinstance(generated, _No):
            state: State = "unscored" if generated.ours else "invalid"
            return Score(pair.id, pair.difficulty, state, generated.reason, generated.message)
        if len(reference) != 1:
            return Score(pair.id, pair.difficulty, "unscored", "reference", "the reference is several parts")
        if len(reference[0]) + sum(map(len, generated)) > self._limits.upload_bytes - _SETTINGS:
            return Score(pair.id, pair.difficulty, "invalid", "unreadable", "too many bytes for one sandbox")
        compared = self._host.compare(generated, reference[0], self._settings, self._profile, cancellation)
        return of_comparison(pair, compared)

    def _steps(self, item: Item, cancellation: Cancellation) -> list[bytes] | _No:
        """The STEP files of a shape; a script is run for them."""
        if item.step is not None:
            return _read(item.step, min(self._limits.artifact_bytes, self._limits.upload_bytes - _SETTINGS))
        source: bytes | str = item.source or ""
        if item.script is not None:
            read = _read(item.script, self._limits.source_bytes)
            if isinstance(read, _No):
                return read
            source = read[0]
        request = self._host.request(source, self._profile, None, None, LOCAL, LOCAL)
        result = self._host.execute(request, cancellation, lambda _: None)
        if not result.ok:
            return _of_run(result)
        parts = [part for part in result.parts if part.verdict is Verdict.PART]
        return [result.artifacts[part.artifact].data for part in parts if part.artifact is not None]


@dataclass(frozen=True, slots=True)
class _No:
    """Why there is no shape; `ours`: for no fault of its own."""

    reason: str
    message: str
    ours: bool = False


def _of_run(result: RunResult) -> _No:
    outcome = result.outcome
    if outcome.reason in (Reason.LOST, Reason.CANCELLED):
        return _No("lost", outcome.message or str(outcome.reason), ours=True)
    return _No(str(outcome.verdict or outcome.limit or outcome.reason), outcome.message)


def _read(path: Path, most: int) -> list[bytes] | _No:
    """A file's bytes; what is no regular file is not waited for."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return _No("unreadable", "it is no regular file")
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(most + 1)
    finally:
        os.close(descriptor)
    return _No("unreadable", f"it has more than {most} bytes") if len(data) > most else [data]


def of_comparison(pair: Pair, found: Comparison) -> Score:
    """The score of a pair that was compared. Pure."""
    if found.fault == "generated":
        reason = "unreadable" if found.verdict == "inspector_failed" else str(found.verdict)
        return Score(pair.id, pair.difficulty, "invalid", reason, found.message)
    if found.fault:
        reason = "reference" if found.fault == "reference" else "lost"
        message = f"the reference: {found.verdict}: {found.message}" if reason == "reference" else found.message
        return Score(pair.id, pair.difficulty, "unscored", reason, message)
    assert found.reference is not None
    assert found.generated is not None
    distances, overlap = found.distances, found.overlap
    return Score(
        pair.id, pair.difficulty, "valid", "", found.message,
        chamfer=distances.chamfer if distances else None, point_cloud=distances.point_cloud if distances else None,
        hausdorff=distances.hausdorff if distances else None, iogt=distances.iogt if distances else None,
        iou=overlap.iou if overlap else None, iou_method=overlap.method if overlap else None,
        iou_error=overlap.error if overlap else None, iou_samples=overlap.samples if overlap else None,
        iou_note=overlap.message if overlap else "",
        volume_error=abs(found.generated.volume - found.reference.volume) / found.reference.volume,
        box_error=_box_error(found.generated, found.reference),
    )  # fmt: skip


def _box_error(generated: Size, reference: Size) -> float:
    mine, its = ([size.box[axis + 3] - size.box[axis] for axis in range(3)] for size in (generated, reference))
    return max(abs(one - other) / other for one, other in zip(mine, its, strict=True))
