"""The repair loop: ask, run, judge, and ask again with an account of what was wrong, within one wall-clock budget.

    ask the model → find the script → gate, execute, inspect → judge → a part: done; else: account → ask the model

The deadline is a point in time for the whole, model and sandboxes together: a hung script eats its share, no attempt
gets more than what is left, and at zero the loop ends and says so. A script that failed before is not run again.
"""

from __future__ import annotations

import dataclasses
import math
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass, field

from casemate.cad import account
from casemate.cad.checks import Checks, Fault
from casemate.cad.extraction import extract
from casemate.cad.generators import Generator, Message, ModelError, Reply, plain
from casemate.cad.prompts import Prompts
from casemate.cad.record import Attempt, Record, Run, digest
from casemate.control.deadline import Deadline
from casemate.control.host import Host
from casemate.control.profiles import profile_names
from casemate.errors import Denied
from casemate.model import Artifact, Part, RunResult

ATTEMPTS, DEADLINE = 4, 120.0
GRACE = 1.0
"""Seconds after the deadline that a generator has to say that it passed."""
_MODEL_RETRIES = 2
"""How often in a row the model may give nothing before the loop ends."""
_NAME, _MOST_TOKENS = 200, 1 << 40
"""Characters of a model's name, and tokens, that are kept of what a server says."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What goes on: attempt `number` of `attempts`, `stage` (`model`, then those of `Host.run`), seconds left."""

    number: int
    attempts: int
    stage: str
    left: float


@dataclass(frozen=True, slots=True)
class Generation:
    """What came of a request: the record of all of it, and the best part with its file, if there was one."""

    record: Record
    part: Part | None
    artifact: Artifact | None = field(repr=False)

    @property
    def ok(self) -> bool:
        """True for a part that passed every check."""
        return self.record.reason == "part"

    @property
    def faults(self) -> tuple[Fault, ...]:
        """What is wrong with the best part, or, if there is none, with the last attempt."""
        attempts = {attempt.number: attempt for attempt in self.record.attempts}
        best = attempts.get(self.record.best) if self.record.best is not None else None
        if best is not None:
            return best.faults
        return self.record.attempts[-1].faults if self.record.attempts else ()


def generate(
    host: Host, generator: Generator, request: str, *, checks: Checks | None = None, attempts: int = ATTEMPTS,
    deadline: Deadline | float = DEADLINE, profile: str = "cad", limits: Mapping[str, float] | None = None,
    prompts: Prompts | None = None, progress: Callable[[Progress], None] = lambda _: None,
    keep: Callable[[Record], None] = lambda _: None,
) -> Generation:  # fmt: skip
    """Have a model write a part, and repair it until it passes the checks.

    `keep` gets the record as it is after each attempt, with the reason `unfinished`: what was paid for is not lost if
    the loop is interrupted.

    `deadline` is seconds from now or a point in time. Raises Denied (a bad profile, limit or template), Busy,
    SandboxFault; what the model and its scripts did wrong is in the record. A `KeyboardInterrupt` ends it.
    """
    if attempts < 1:
        raise ValueError(f"attempts is {attempts}: at least one is needed")
    if not request.strip():
        raise ValueError("an empty request")
    until = Deadline.after(deadline) if isinstance(deadline, (int, float)) else deadline
    if not math.isfinite(until.at):
        raise ValueError(f"a deadline at {until.at}: the loop needs an end")
    return _Loop(
        host, generator, plain(request), checks or Checks(), attempts, until, profile, limits or {},
        prompts or Prompts.load(), progress, keep,
    ).run()  # fmt: skip


class _Loop:
    def __init__(
        self, host: Host, generator: Generator, request: str, checks: Checks, most: int, until: Deadline, profile: str,
        limits: Mapping[str, float], prompts: Prompts, progress: Callable[[Progress], None],
        keep: Callable[[Record], None],
    ) -> None:  # fmt: skip
        self._host, self._generator, self._request, self._checks = host, generator, request, checks
        self._most, self._until, self._profile, self._limits = most, until, profile, limits
        self._prompts, self._progress, self._kept = prompts, progress, keep
        self._began = time.monotonic()
        self._budget = until.left()
        self._attempts: list[Attempt] = []
        self._tried: dict[str, int] = {}
        self._best: tuple[int, RunResult, Part] | None = None
        # What is refused is refused before the model is asked.
        self._plan = host.request("", profile, None, None, "local", "local", limits=limits)
        if self._plan.program:
            raise Denied(f"profile {profile!r} is for plain programs: parts are made under a CAD profile")

    def run(self) -> Generation:
        wishes = self._checks.wishes()
        opening = (
            Message("system", self._prompts.system),
            Message("user", self._prompts.opening(self._request, wishes)),
        )
        messages: tuple[Message, ...] = opening
        for number in range(1, self._most + 1):
            try:
                reply, seconds = self._ask(messages, number)
            except ModelError as error:
                return self._end("deadline" if error.expired else "model", str(error))
            attempt = self._attempt(number, messages, reply, seconds)
            self._attempts.append(attempt)
            self._kept(self._record("unfinished", "the loop was interrupted"))
            if attempt.ok:
                return self._end("part", "")
            if self._until.left() <= 0:
                return self._end("deadline", "no time was left for another attempt")
            # The opening, the last answer and its account: older attempts would only fill the model's window.
            again = self._prompts.again(self._request, wishes, attempt.account, number, self._most)
            messages = (*opening, Message("assistant", reply.text), Message("user", again))
        return self._end("attempts", f"none of {self._most} attempts passed every check")

    def _ask(self, messages: tuple[Message, ...], number: int) -> tuple[Reply, float]:
        began = time.monotonic()
        for again in range(_MODEL_RETRIES + 1):
            if self._until.left() <= 0:
                raise ModelError("no time was left for another attempt", expired=True)
            self._told(number, "model")
            try:
                reply = _in_time(lambda: self._generator(messages, self._until), self._until)
                return _bounded(reply), time.monotonic() - began
            except ModelError as error:
                if error.expired or error.permanent or again == _MODEL_RETRIES:
                    raise
        raise AssertionError("unreachable")

    def _attempt(self, number: int, messages: tuple[Message, ...], reply: Reply, seconds: float) -> Attempt:
        found = extract(reply.text)
        same = self._tried.get(digest(found.source)) if found.source else None
        result: RunResult | None = None
        began = time.monotonic()
        if not found.source:
            faults: tuple[Fault, ...] = (account.CUT if reply.finish in ("cut", "length") else account.NO_CODE,)
        elif same is not None:
            faults = self._attempts[same - 1].faults
        else:
            self._tried[digest(found.source)] = number
            result = self._host.run(
                found.source, self._profile, None, self._until, limits=self._limits,
                progress=lambda stage: self._told(number, stage),
            )  # fmt: skip
            faults = account.faults(result, self._checks)
            if faults and found.how == "open fence":
                faults = (*faults, account.CUT)
            self._keep(number, result, faults)
        return Attempt(
            number=number, messages=messages, reply=reply.text, finish=reply.finish, model=reply.model,
            prompt_tokens=reply.prompt_tokens, completion_tokens=reply.completion_tokens, source=found.source,
            how=found.how, run=None if result is None else Run.of(result), same_as=same, faults=faults,
            account=account.account(faults, result, repeated=same is not None), model_seconds=seconds,
            run_seconds=time.monotonic() - began,
        )  # fmt: skip

    def _keep(self, number: int, result: RunResult, faults: tuple[Fault, ...]) -> None:
        part = account.measured(result)
        if part is None:
            return
        if self._best is None or len(faults) < len(self._attempts[self._best[0] - 1].faults):
            self._best = (number, result, part)

    def _told(self, number: int, stage: str) -> None:
        self._progress(Progress(number, self._most, stage, max(0.0, self._until.left())))

    def _record(self, reason: str, message: str) -> Record:
        profile = self._plan.plan.profile
        return Record(
            request=self._request, checks=self._checks, generator=dict(getattr(self._generator, "settings", {})),
            profile=profile.name, profile_digest=profile.digest, image_digest=self._plan.image.digest,
            limits=dict(self._limits), deadline=self._budget, attempts=tuple(self._attempts), reason=reason,
            message=message, best=None if self._best is None else self._best[0],
            seconds=time.monotonic() - self._began,
        )  # fmt: skip

    def _end(self, reason: str, message: str) -> Generation:
        record = self._record(reason, message)
        if self._best is None:
            return Generation(record, None, None)
        _, result, part = self._best
        return Generation(record, part, result.artifacts.get(part.artifact or ""))


def _in_time(work: Callable[[], Reply], until: Deadline) -> Reply:
    """What it gives, or raises; ModelError if it goes on GRACE seconds after the deadline, which it should keep itself.

    Then it is left alone in a thread that keeps no process alive: nothing in Python ends a thread, and a generator may
    be anybody's code, or wait for a name server.
    """
    given: Future[Reply] = Future()

    def run() -> None:
        try:
            given.set_result(work())
        except BaseException as error:
            given.set_exception(error)

    threading.Thread(target=run, name="casemate-model", daemon=True).start()
    # Not `result(timeout)`: a TimeoutError of the generator's own is another matter.
    if not wait((given,), min(max(0.0, until.left()) + GRACE, threading.TIMEOUT_MAX)).done:
        raise ModelError("the model did not end at the deadline, and was left alone", expired=True)
    return given.result()


def _bounded(reply: Reply) -> Reply:
    """As a record can hold it: valid text, short names, and counts that are counts."""
    counts = (reply.prompt_tokens, reply.completion_tokens)
    prompt, completion = (one if one is not None and 0 <= one <= _MOST_TOKENS else None for one in counts)
    return dataclasses.replace(
        reply, text=plain(reply.text), finish=plain(reply.finish[:_NAME]), model=plain(reply.model[:_NAME]),
        prompt_tokens=prompt, completion_tokens=completion,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Replayed:
    """An attempt's script run again: what is wrong now, and what differs from the record ("" if nothing does)."""

    number: int
    result: RunResult
    faults: tuple[Fault, ...]
    difference: str


def replay(
    host: Host, record: Record, progress: Callable[[Progress], None] = lambda _: None, profile: str | None = None
) -> tuple[Replayed, ...]:
    """Run the scripts of a record again, each as it was run, without a model.

    `profile` stands for the record's, which may name a shipped one alone: a record may be anybody's, and a profile's
    file beside it too. Raises Denied for another.
    """
    if profile is None and record.profile not in profile_names():
        raise Denied(
            f"the record names the profile {record.profile!r}, which is not shipped: say which one to run under"
        )
    found = []
    run = [attempt for attempt in record.attempts if attempt.run is not None]
    for attempt in run:
        progress(Progress(attempt.number, len(run), "script", 0.0))
        result = host.run(attempt.source, profile or record.profile, limits=record.limits)
        faults = account.faults(result, record.checks)
        found.append(Replayed(attempt.number, result, faults, _difference(attempt, Run.of(result), faults)))
    return tuple(found)


def _difference(attempt: Attempt, now: Run, faults: tuple[Fault, ...]) -> str:
    assert attempt.run is not None
    then = attempt.run
    ends = [" ".join(filter(None, (run.outcome.reason, run.outcome.verdict))) for run in (then, now)]
    if ends[0] != ends[1]:
        return f"it was {ends[0]}, now {ends[1]}"
    if then.files != now.files:
        return "its files have other bytes"
    codes = ([fault.code for fault in attempt.faults], [fault.code for fault in faults])
    return "" if codes[0] == codes[1] else f"its faults were {codes[0]}, now {codes[1]}"
