"""A reward for reinforcement learning: how far each completion's script came, run in a sandbox, with a reason.

`Reward` is called as TRL's GRPOTrainer calls its reward functions (trl 1.16, `GRPOTrainer._calculate_rewards`), and its
`compute_score` as verl's batch reward manager does (`BatchRewardManager`). What a script prints has no part in it, and,
under a profile with inspection, nothing else that its process could forge.

    completion → script → gate, execute, inspect → checks ─┐
    reference, if the row has one → compared in a sandbox ─┴→ reward and reason
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from casemate.cad import account
from casemate.cad.checks import Checks, Fault
from casemate.cad.extraction import extract
from casemate.cad.protocols import DEFAULT, protocol
from casemate.cad.record import digest
from casemate.control import shared
from casemate.control.host import Host
from casemate.control.leases import LOCAL
from casemate.errors import Busy, Denied, SandboxFault
from casemate.model import Reason, RunResult

MOST_CHARACTERS = 1 << 18
"""Of a completion; as many as a script may have bytes."""
POINTS = 1000
"""Of a comparison, whose distances are not used."""
_CHECKS = TypeAdapter(Checks)
Completion = str | Sequence[Mapping[str, Any]]
"""A text, or the messages that the model added to a conversation."""


@dataclass(frozen=True, slots=True)
class Scale:
    """What each stage is worth, ascending, between 0 and 1; a part that passes every check is worth 1.

    A part gets `part`, and of what is missing to 1 the share of the checks that it passes, times its intersection over
    union with the reference if its row has one.
    """

    no_script: float = 0.0
    denied: float = 0.1
    failed: float = 0.2
    """It raised, crashed, or ran into a limit."""
    no_part: float = 0.4
    """It ran, and made nothing or something that is no valid solid."""
    part: float = 0.6

    def __post_init__(self) -> None:
        """Raise ValueError for stages that are not worth more, one after the other."""
        values = [getattr(self, one.name) for one in fields(self)]
        if not all(math.isfinite(value) for value in values) or values != sorted(values) or values[0] < 0:
            raise ValueError(f"the stages are worth {values}: they must ascend from 0 or more")
        if values[-1] > 1:
            raise ValueError(f"a part is worth {values[-1]}: at most 1")


@dataclass(frozen=True, slots=True)
class Judged:
    """One completion: `reward` is None if a fault of ours kept it from being judged; `reason` is its first fault."""

    reward: float | None
    code: str
    """`part`, or the code of the first fault."""
    reason: str


@dataclass(frozen=True, slots=True)
class _Overlap:
    """With the reference; None if a fault of ours kept it from being measured."""

    iou: float | None
    message: str


class Reward:
    """Judges completions; safe from several threads, and picklable (a copy uses the Host of its own process).

    `checks` holds for all rows; a row's own (a column `checks` of the data set: a mapping of the fields of `Checks`)
    stand in its place. A column `reference` holds paths of STEP files; `by` is the protocol (docs/scores.md) by which a
    part is compared with one. `limits` tightens the profile: a shorter `wall_time` makes a batch of hangs cheap. `host`
    is the process's shared one unless given. Equal scripts of a batch are run once.
    """

    __name__ = "casemate"

    def __init__(
        self, checks: Checks | None = None, *, profile: str = "cad", limits: Mapping[str, float] | None = None,
        jobs: int | None = None, scale: Scale | None = None, host: Host | None = None, by: str = DEFAULT,
    ) -> None:  # fmt: skip
        self.checks = checks or Checks()
        self.profile = profile
        self.limits = dict(limits or {})
        self.jobs = jobs
        self.scale = scale or Scale()
        self.settings = protocol(by).settings(points=POINTS)
        self._host = host

    def __getstate__(self) -> dict[str, Any]:
        """All but the Host, which is one process's."""
        return {**self.__dict__, "_host": None}

    def __call__(
        self, prompts: Sequence[Any] | None = None, completions: Sequence[Completion] = (), *,
        checks: Sequence[Mapping[str, Any] | Checks | None] | None = None,
        reference: Sequence[str | Path | None] | None = None,
        log_extra: Callable[[str, list[str]], object] | None = None,
        log_metric: Callable[[str, float], object] | None = None, **_: Any,
    ) -> list[float | None]:  # fmt: skip
        """A reward each, as TRL asks for them; None, which TRL leaves out, where a fault of ours left no verdict.

        The reasons go to `log_extra` and the share of parts to `log_metric`, which TRL passes. Raises Denied for a bad
        profile or check.
        """
        judged = self.judge(completions, checks, reference)
        if log_extra is not None:
            log_extra("casemate_reason", [one.reason for one in judged])
        if log_metric is not None and judged:
            log_metric("casemate_parts", sum(one.code == "part" for one in judged) / len(judged))
        return [one.reward for one in judged]

    def compute_score(
        self, data_sources: Sequence[Any] | None = None, solution_strs: Sequence[str] = (),
        ground_truths: Sequence[Any] | None = None, extra_infos: Sequence[Mapping[str, Any] | None] | None = None,
        **_: Any,
    ) -> list[dict[str, Any]]:  # fmt: skip
        """{"score", "code", "reason"} each, as verl asks for them; `extra_info` may hold `checks` and `reference`.

        verl has no word for a missing reward: raises SandboxFault where a fault of ours left no verdict, twice.
        """
        rows = [info or {} for info in extra_infos or [None] * len(solution_strs)]
        judged = self.judge(solution_strs, [row.get("checks") for row in rows], [row.get("reference") for row in rows])
        if missing := [one.reason for one in judged if one.reward is None]:
            raise SandboxFault(f"{len(missing)} of {len(judged)} completions could not be judged: {missing[0]}")
        return [{"score": one.reward, "code": one.code, "reason": one.reason} for one in judged]

    def judge(
        self, completions: Sequence[Completion], checks: Sequence[Mapping[str, Any] | Checks | None] | None = None,
        references: Sequence[str | Path | None] | None = None,
    ) -> list[Judged]:  # fmt: skip
        """Each completion's reward and reason, in order; raises OSError for a reference that cannot be read."""
        for what, column in (("checks", checks), ("references", references)):
            if column is not None and len(column) != len(completions):
                raise ValueError(f"{len(column)} {what} for {len(completions)} completions")
        asked = [self._asked(row) for row in checks or [None] * len(completions)]
        names = [None if path is None else str(path) for path in references or [None] * len(completions)]
        files = {name: Path(name).read_bytes() for name in names if name is not None}
        scripts = [_script(text_of(completion)) for completion in completions]
        results = self._results({digest(script): script for script in scripts if script})
        wanted = {
            (digest(script), name) for script, name in zip(scripts, names, strict=True)
            if name is not None and script and results[digest(script)].ok
        }  # fmt: skip
        overlaps = self._overlaps({(key, name): (results[key], files[name]) for key, name in wanted})
        return [
            self._judged(results[digest(script)], checked, overlaps.get((digest(script), name or "")))
            if script else self._without(text_of(completion))
            for completion, script, checked, name in zip(completions, scripts, asked, names, strict=True)
        ]  # fmt: skip

    def _asked(self, row: Mapping[str, Any] | Checks | None) -> Checks:
        if row is None or isinstance(row, Checks):
            return row or self.checks
        # A table has every column in every row.
        given = {name: value for name, value in row.items() if value is not None}
        if unknown := set(given) - {one.name for one in fields(Checks)}:
            raise Denied(f"checks of a row: there is no {', '.join(sorted(unknown))}")
        try:
            return _CHECKS.validate_python(given)
        except ValidationError as error:
            first = error.errors()[0]
            raise Denied(f"checks of a row: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None

    def _results(self, scripts: Mapping[str, str]) -> dict[str, RunResult]:
        host = self._host or shared.host()
        if host.request("", self.profile, None, None, LOCAL, LOCAL, limits=self.limits).program:
            raise Denied(f"profile {self.profile!r} is for plain programs: rewards are given under a CAD profile")
        found = dict(zip(scripts, self._run(host, list(scripts.values())), strict=True))
        if lost := [key for key, result in found.items() if result.outcome.reason is Reason.LOST]:
            found.update(zip(lost, self._run(host, [scripts[key] for key in lost]), strict=True))
        return found

    def _run(self, host: Host, scripts: Sequence[str]) -> Iterator[RunResult]:
        return host.map(scripts, self.profile, jobs=self.jobs, limits=self.limits)

    def _overlaps(self, wanted: Mapping[tuple[str, str], tuple[RunResult, bytes]]) -> dict[tuple[str, str], _Overlap]:
        if not wanted:
            return {}
        jobs = self.jobs or len(os.sched_getaffinity(0))
        with ThreadPoolExecutor(jobs, "casemate-reward") as threads:
            return dict(zip(wanted, threads.map(lambda pair: self._overlap(*pair), wanted.values()), strict=True))

    def _overlap(self, result: RunResult, reference: bytes) -> _Overlap:
        files = [result.artifacts[part.artifact].data for part in result.parts if part.artifact is not None]
        try:
            found = (self._host or shared.host()).compare(files, reference, self.settings, self.profile)
        except (Busy, SandboxFault) as fault:
            return _Overlap(None, str(fault))
        if found.fault == "reference":
            raise Denied(f"a reference is no part: {found.message or found.verdict}")
        if found.fault in ("lost", "cancelled"):
            return _Overlap(None, found.message)
        if found.overlap is None:
            return _Overlap(0.0, found.message or str(found.verdict))
        return _Overlap(found.overlap.iou, f"{found.overlap.iou:.3f} of the union is common with the reference")

    def _without(self, text: str) -> Judged:
        return Judged(self.scale.no_script, account.NO_CODE.code, account.NO_CODE.message if text else "it is empty")

    def _judged(self, result: RunResult, checks: Checks, overlap: _Overlap | None) -> Judged:
        outcome = result.outcome
        if outcome.reason in (Reason.LOST, Reason.CANCELLED):
            return Judged(None, str(outcome.reason), outcome.message or str(outcome.reason))
        found = account.faults(result, checks)
        if result.ok:
            return self._part(found, checks, overlap)
        worth = {"denied": self.scale.denied, "verdict": self.scale.no_part}
        kind = found[0].code.partition(".")[0]
        return Judged(worth.get(kind, self.scale.failed), found[0].code, found[0].message)

    def _part(self, found: tuple[Fault, ...], checks: Checks, overlap: _Overlap | None) -> Judged:
        if overlap is not None and overlap.iou is None:
            return Judged(None, "lost", overlap.message)
        share = max(0.0, 1 - len(found) / checks.count) if found else 1.0
        iou = 1.0 if overlap is None or overlap.iou is None else overlap.iou
        told = [fault.message for fault in found] or ["a part that passes every check"]
        told += [] if overlap is None else [overlap.message]
        reward = self.scale.part + (1 - self.scale.part) * share * iou
        return Judged(reward, found[0].code if found else "part", "; ".join(told))


def text_of(completion: Completion) -> str:
    """What the model wrote: the text, or the contents of the assistant's messages (also those made of parts)."""
    if isinstance(completion, str):
        return completion
    texts: list[str] = []
    for message in completion or ():
        content = message.get("content") if message.get("role", "assistant") == "assistant" else None
        if isinstance(content, str):
            texts.append(content)
        elif isinstance(content, Sequence):
            parts = [part.get("text") for part in content if isinstance(part, Mapping)]
            texts += [part for part in parts if isinstance(part, str)]
    return "\n".join(texts)


def _script(text: str) -> str:
    return extract(text).source if len(text) <= MOST_CHARACTERS else ""
