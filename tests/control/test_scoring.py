"""What the report of a comparison is believed to say. Each forged report has its honest twin."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from casemate.control.scoring import Comparison, of_report
from casemate.model import Verdict
from casemate.runtime import score_report
from casemate.runtime.rooms import Ended

BOX = [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]
REFERENCE: dict[str, Any] = {
    "kind": "shape", "which": "reference", "verdict": "part", "message": "", "volume": 1.0, "box": BOX,
}  # fmt: skip
GENERATED = {**REFERENCE, "which": "generated", "volume": 0.5}
DISTANCES = {"kind": "distances", "chamfer": 0.1, "point_cloud": 0.2, "hausdorff": 0.3, "iogt": 0.4}
OVERLAP = {"kind": "overlap", "method": "boolean", "iou": 0.5, "error": 0.0, "samples": 0, "message": ""}
HONEST = [REFERENCE, GENERATED, DISTANCES, OVERLAP]


def ended(reason: str = "exited", code: int = 0, signal: int = 0, limit: str = "") -> Ended:
    return Ended(
        id="x", reason=reason, limit=limit, exit_code=code, signal=signal, wall=1.0, cpu=1.0, memory_peak=-1,
        processes_peak=-1, disk_bytes=-1, teardown=0.0, stdout_total=0, stderr_total=0, report_total=0, refused=(),
        layers=(),
    )  # fmt: skip


def framed(*records: dict[str, Any] | bytes) -> bytes:
    bodies = [record if isinstance(record, bytes) else json.dumps(record).encode() for record in records]
    return b"".join(len(body).to_bytes(4, "big") + body for body in bodies)


def found(*records: dict[str, Any] | bytes, facts: Ended | None = None) -> Comparison:
    return of_report(facts or ended(), score_report.parse(framed(*records)))


def test_an_honest_report_is_taken_as_it_is() -> None:
    one = found(*HONEST)
    assert (one.fault, one.verdict) == ("", Verdict.PART)
    assert one.reference is not None
    assert one.generated is not None
    assert (one.reference.volume, one.generated.volume) == (1.0, 0.5)
    assert one.distances is not None
    assert one.distances.hausdorff == 0.3
    assert one.overlap is not None
    assert (one.overlap.iou, one.overlap.method) == (0.5, "boolean")


@pytest.mark.parametrize(
    ("which", "changed"),
    [
        (2, {"chamfer": float("nan")}),
        (2, {"chamfer": float("inf")}),
        (2, {"hausdorff": -1.0}),
        (2, {"iogt": 1.5}),
        (2, {"chamfer": "0"}),
        (2, {"more": 1}),
        (3, {"iou": 1.0001}),
        (3, {"iou": -0.1}),
        (3, {"method": "guessed"}),
        (3, {"samples": 1 << 60}),
    ],
)
def test_a_number_that_cannot_be_is_none(which: int, changed: dict[str, Any]) -> None:
    records = [dict(record) for record in HONEST]
    records[which].update(changed)
    one = found(*records)
    assert one.fault == ""
    assert (one.distances if which == 2 else one.overlap) is None


@pytest.mark.parametrize(
    "changed",
    [
        {"volume": 0.0},
        {"volume": -1.0},
        {"volume": None},
        {"volume": 1e300},
        {"box": None},
        {"box": [0.0, 0.0, 0.0, 1.0, 1.0, 0.0]},
        {"box": [0.0, 0.0, 1.0, 1.0]},
        {"box": [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]},
    ],
)
def test_a_part_without_a_size_is_no_part(changed: dict[str, Any]) -> None:
    one = found(REFERENCE, {**GENERATED, **changed}, DISTANCES, OVERLAP)
    assert (one.fault, one.verdict, one.distances) == ("generated", Verdict.INSPECTOR_FAILED, None)


def test_what_was_told_of_the_reference_before_the_generated_was_read_stands() -> None:
    blamed = {**REFERENCE, "verdict": "invalid", "volume": None, "box": None}
    one = found(REFERENCE, blamed, GENERATED, DISTANCES, OVERLAP)
    assert (one.fault, one.reference) == ("", found(*HONEST).reference)
    assert found(blamed, REFERENCE, GENERATED, DISTANCES, OVERLAP).fault == "reference"


def test_the_first_word_on_each_thing_counts() -> None:
    better = {**OVERLAP, "iou": 1.0}
    assert found(*HONEST, better, {**DISTANCES, "chamfer": 0.0}) == found(*HONEST)


def test_a_generated_shape_that_comes_first_is_not_believed() -> None:
    assert found(GENERATED, REFERENCE, DISTANCES, OVERLAP).fault == "reference"


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (ended("signaled", signal=11), "signal 11 in stage generated"),
        (ended("signaled", signal=14), "it took longer than its budget in stage generated"),
        (ended("limit", limit="memory"), "limit memory in stage generated"),
        (ended(code=70), "status 70 in stage generated"),
    ],
)
def test_what_ends_while_the_generated_is_read_is_its_fault(facts: Ended, words: str) -> None:
    start = {"kind": "stage", "name": "generated", "event": "start"}
    one = found(REFERENCE, start, facts=facts)
    assert (one.fault, one.verdict, one.message) == ("generated", Verdict.INSPECTOR_FAILED, words)


@pytest.mark.parametrize(("reason", "fault"), [("cancelled", "cancelled"), ("lost", "lost")])
def test_what_was_cancelled_or_lost_is_no_score_whatever_was_told(reason: str, fault: str) -> None:
    one = found(*HONEST, facts=ended(reason))
    assert (one.fault, one.distances, one.overlap) == (fault, None, None)


@pytest.mark.parametrize("noise", [b"{", b"null", b"[" * 50_000, b'{"kind":"gate"}', b"\xff"])
def test_noise_ends_the_report_where_it_begins(noise: bytes) -> None:
    one = found(REFERENCE, GENERATED, noise, DISTANCES, OVERLAP)
    assert (one.fault, one.distances, one.overlap) == ("", None, None)
    assert "record 2" in one.message


RECORDS = st.sampled_from([framed(record) for record in HONEST]) | st.binary(max_size=40)
FACTS = st.sampled_from([ended(), ended("signaled", signal=11), ended("limit", limit="wall_time"), ended("lost")])


@given(st.lists(RECORDS, max_size=8).map(b"".join), FACTS)
def test_no_report_raises_and_what_has_a_score_has_both_sizes(data: bytes, facts: Ended) -> None:
    one = of_report(facts, score_report.parse(data))
    if one.distances is not None or one.overlap is not None:
        assert one.fault == ""
    if one.fault == "":
        assert one.reference is not None
        assert one.generated is not None
