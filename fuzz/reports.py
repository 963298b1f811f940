"""What a guest wrote on its report: parsed without an error, and never believed above what the keeper saw."""

from __future__ import annotations

import copy
import dataclasses
import json
import re
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st
from runtime.records import EVERY, record

from casemate.control import outcomes
from casemate.launcher.spec import Ended
from casemate.model import Outcome, Reason, Verdict
from casemate.runtime import report
from fuzz import wire

BYTES = 4 << 20
"""`report_bytes` of the shipped profiles."""
BUDGETS = {"handover": 20.0, "step": 30.0, "facts": 45.0}
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*\Z")


def facts() -> Iterator[Ended]:
    """What a keeper may have seen of an execution."""
    good = Ended("x", "exited", "", 0, 0, 60.0, 0.1, 1.0, 1, 1, 0, (), 0, 0, 9, ())
    yield good
    for code in (1, 3):
        yield dataclasses.replace(good, exit_code=code)
    for number in (9, 11, 14, 64):
        yield dataclasses.replace(good, reason="signaled", exit_code=-1, signal=number)
    yield dataclasses.replace(good, reason="limit", limit="memory", exit_code=-1, signal=9)
    for reason in ("lost", "cancelled"):
        yield dataclasses.replace(good, reason=reason, exit_code=-1)


def check(data: bytes) -> str:
    """Parse a report and make outcomes of it."""
    told = report.parse(data[:BYTES])
    assert len(told.records) <= report.MAX_RECORDS
    assert len(told.damaged) < 1000
    assert told.gate is None or told.gate is told.records[0]
    assert (told.stages, told.unfinished, told.notices) is not None
    names = [file.file for part in told.handover.parts for file in part.files] if told.handover else []
    names += [part.file for part in told.parts if part.file is not None]
    assert all(map(_FILE.match, names))
    for seen in facts():
        for gated in (True, False):
            _of_script(seen, told, gated)
        if told.handover is not None:
            _of_inspection(seen, told, told.handover)
    return "damaged" if told.damaged else "read"


def _of_script(seen: Ended, told: report.Report, gated: bool) -> None:
    outcome = outcomes.of_script(seen, told, gated=gated, check_only=False, budgets=BUDGETS)
    _not_better(seen, outcome)
    if outcome.reason is Reason.POLICY:
        first = told.records[0]
        assert gated
        assert isinstance(first, report.GateRecord)
        assert not first.admitted
        assert (seen.reason, seen.exit_code) == ("exited", 3)
    assert outcome.verdict in (None, Verdict.NO_RESULT, Verdict.NO_SOLID)


def _of_inspection(seen: Ended, told: report.Report, handover: report.HandoverRecord) -> None:
    script = Outcome(Reason.EXITED, outcomes.Stage.HANDOVER, exit_code=0)
    outcome, parts = outcomes.of_inspection(script, seen, told, handover, None, BUDGETS)
    _not_better(seen, outcome)
    if outcome.verdict is Verdict.PART:
        assert (seen.reason, seen.exit_code) == ("exited", 0)
        assert [part.name for part in parts] == [part.name for part in handover.parts]
        found = [part.facts for part in parts if part.verdict is Verdict.PART]
        assert found
        assert all(facts is not None and facts.valid and facts.volume > 0 for facts in found)
    outcomes.matched(parts, {})


def _not_better(seen: Ended, outcome: Outcome) -> None:
    """Nothing that was said makes a success of what the keeper saw."""
    assert outcome.reason is not Reason.EXITED or seen.reason == "exited"
    assert outcome.exit_code in (None, seen.exit_code)
    assert seen.reason != "lost" or outcome.reason is Reason.LOST
    assert seen.reason != "cancelled" or outcome.reason is Reason.CANCELLED


# --- cases ------------------------------------------------------------------------------------------------------------


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A record with damage, of a length that need not be its own."""
    value: Any = copy.deepcopy(draw(st.sampled_from(EVERY)))
    for _ in range(draw(st.integers(0, 3))):
        wire.damage(draw, value)
    try:
        body = json.dumps(value, ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")
    except RecursionError:
        body = b"{"
    length = max(0, len(body) + draw(st.sampled_from([0, 0, 0, 0, 1, -1, 1 << 20])))
    return length.to_bytes(4, "big") + body


@st.composite
def long(draw: st.DrawFn) -> bytes:
    """As much as a report may hold, of few records many times, or of one that is as long as it may be."""
    piece = draw(st.sampled_from([b"[", b'{"a":', b"1", b"{},", b'"",', b" ", b"\xff"]))
    start = draw(st.sampled_from([b"", b'{"kind":"gate","denials":[', b'{"kind":', b'{"kind":"part","name":"']))
    body = (start + piece * report.MAX_RECORD)[: report.MAX_RECORD]
    one = draw(st.just(record(body)) | damaged() | st.sampled_from([*map(record, EVERY)]))
    return one * (BYTES // max(1, len(one)))


_RECORDS = st.sampled_from([*map(record, EVERY)]) | damaged() | st.binary(max_size=20)
REPORTS = st.one_of(*[st.lists(_RECORDS, max_size=8).map(b"".join)] * 5, long())


def seeds() -> list[bytes]:
    """Each record alone, and all of them."""
    return [*map(record, EVERY), b"".join(map(record, EVERY))]
