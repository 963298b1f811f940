"""What must have been seen of a whole job, on results made by hand."""

from __future__ import annotations

import dataclasses

import pytest

from casemate.model import Artifact, Enforcement, Limit, Outcome, Reason, RunResult, Stage, Stream, Usage
from casemate.verify import expect

QUIET = Stream(b"", 0, False)
RESULT = RunResult(
    "id", Outcome(Reason.EXITED, Stage.SCRIPT, exit_code=0), Stream(b"said", 4, False), QUIET, (), {},
    Usage(1.0, 0.5, 60 << 20, 10, refused=("disk_bytes",)), Enforcement("cad", "", "", ()), trusted=True,
)  # fmt: skip
LIMITED = dataclasses.replace(RESULT, outcome=Outcome(Reason.LIMIT, Stage.SCRIPT, limit=Limit.MEMORY))
KILLED = dataclasses.replace(RESULT, outcome=Outcome(Reason.SIGNALED, Stage.SCRIPT, signal=9))
REFUSED = dataclasses.replace(RESULT, outcome=Outcome(Reason.EXITED, Stage.HANDOVER, exit_code=0, message="a link"))
DELIVERED = dataclasses.replace(REFUSED, artifacts={"a": Artifact("a", b"", "")})
UNCOUNTED = dataclasses.replace(RESULT, usage=Usage(1.0, None, None, None))


@pytest.mark.parametrize(
    ("clause", "result", "refusal", "right"),
    [
        ("exited", RESULT, "", True),
        ("exited", LIMITED, "", False),
        ("limit memory", LIMITED, "", True),
        ("limit memory", RESULT, "", False),
        ("limit cpu_time", LIMITED, "", False),
        ("signaled 9", KILLED, "", True),
        ("signaled 11", KILLED, "", False),
        ("cancelled", KILLED, "", False),
        ("refused EPERM,ENOENT", RESULT, "ENOENT after 3", True),
        ("refused EPERM,ENOENT", RESULT, "EAGAIN after 3", False),
        ("refused EPERM,ENOENT", RESULT, "", False),
        ("never said", RESULT, "", False),
        ("never other", RESULT, "", True),
        (f"memory {56 << 20}", RESULT, "", True),
        (f"memory {40 << 20}", RESULT, "", False),
        ("tasks 16", RESULT, "", True),
        ("tasks 7", RESULT, "", False),
        ("stdout 4", RESULT, "", True),
        ("stdout 3", RESULT, "", False),
        ("counted 4", RESULT, "", True),
        ("counted 5", RESULT, "", False),
        ("counter disk_bytes", RESULT, "", True),
        ("counter inodes", RESULT, "", False),
        ("cpu 0.5", RESULT, "", True),
        ("cpu 0.4", RESULT, "", False),
        ("exited; stdout 3", RESULT, "", False),
        ("untaken link|not regular", REFUSED, "", True),
        ("untaken has 2 names", REFUSED, "", False),
        ("untaken link", RESULT, "", False),
        ("untaken link", DELIVERED, "", False),
    ],
)
def test_clause(clause: str, result: RunResult, refusal: str, right: bool) -> None:
    wrong, blind = expect.violations(clause, result, refusal)
    assert (wrong == []) is right
    assert blind == ""


def test_a_counter_that_is_not_there_is_told() -> None:
    assert expect.violations("exited; memory 1", UNCOUNTED, "") == ([], "no counter outside tells memory")
    degraded = dataclasses.replace(UNCOUNTED, enforcement=Enforcement("cad-rlimit", "", "", (), ("cgroup-memory",)))
    assert expect.violations("exited; memory 1", degraded, "") == ([], "")


@pytest.mark.parametrize(
    ("clause", "result", "certain"),
    [("limit memory; memory 1", LIMITED, True), ("limit memory", RESULT, False), ("exited", RESULT, False),
    ("signaled 9", KILLED, True)],
)  # fmt: skip
def test_only_an_end_that_the_keeper_made_stands_for_an_answer(clause: str, result: RunResult, certain: bool) -> None:
    assert expect.certain(clause, result) is certain
