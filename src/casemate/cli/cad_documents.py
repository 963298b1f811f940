"""What `casemate cad` prints with `--json`."""

from __future__ import annotations

from dataclasses import dataclass

from casemate.cad.checks import Fault as CheckFault
from casemate.cad.loop import Generation, Replayed
from casemate.cad.protocols import protocol
from casemate.cad.score import Score, Scores
from casemate.cad.summaries import Summary
from casemate.control.scoring import Settings
from casemate.model import Outcome, Part


@dataclass(frozen=True, slots=True)
class AttemptDocument:
    """One attempt of a generation; all of it is in the record."""

    number: int
    ok: bool
    faults: tuple[CheckFault, ...]
    same_as: int | None
    model_seconds: float
    run_seconds: float
    prompt_tokens: int | None
    completion_tokens: int | None


@dataclass(frozen=True, slots=True)
class GenerationDocument:
    """`casemate cad generate`; `reason` is why it ended, `paths` where part, script and record were written."""

    ok: bool
    reason: str
    message: str
    attempts: tuple[AttemptDocument, ...]
    best: int | None
    part: Part | None
    faults: tuple[CheckFault, ...]
    paths: dict[str, str]
    seconds: float
    exit_status: int


@dataclass(frozen=True, slots=True)
class ReplayedDocument:
    """An attempt of a record that was run again; `difference` is "" if it did what it did then."""

    number: int
    outcome: Outcome
    faults: tuple[CheckFault, ...]
    difference: str


@dataclass(frozen=True, slots=True)
class ReplayDocument:
    """`casemate cad replay`."""

    attempts: tuple[ReplayedDocument, ...]
    exit_status: int


@dataclass(frozen=True, slots=True)
class ScoreDocument:
    """`casemate cad score`: each score in the references' order, summed up over all and by difficulty.

    `plots` is metric → path of its picture, where any were asked for.
    """

    protocol: str
    source: str
    settings: Settings
    profile: str
    scores: tuple[Score, ...]
    overall: Summary
    by_difficulty: dict[str, Summary]
    plots: dict[str, str]
    exit_status: int


def of_generation(made: Generation, paths: dict[str, str], exit_status: int) -> GenerationDocument:
    """What came of a prompt."""
    attempts = tuple(
        AttemptDocument(
            one.number, one.ok, one.faults, one.same_as, one.model_seconds, one.run_seconds, one.prompt_tokens,
            one.completion_tokens,
        )
        for one in made.record.attempts
    )  # fmt: skip
    return GenerationDocument(
        made.ok, made.record.reason, made.record.message, attempts, made.record.best, made.part, made.faults, paths,
        made.record.seconds, exit_status,
    )  # fmt: skip


def of_replay(found: tuple[Replayed, ...], exit_status: int) -> ReplayDocument:
    """What a record's scripts did now."""
    return ReplayDocument(
        tuple(ReplayedDocument(one.number, one.result.outcome, one.faults, one.difference) for one in found),
        exit_status,
    )


def of_scores(scores: Scores, plots: dict[str, str], exit_status: int) -> ScoreDocument:
    """All scores."""
    return ScoreDocument(
        scores.protocol, protocol(scores.protocol).source, scores.settings, scores.profile, scores.scores,
        scores.overall, scores.by_difficulty, plots, exit_status,
    )  # fmt: skip
