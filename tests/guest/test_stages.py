"""Stages are told, timed, and ended by the kernel when their budget is over."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

from casemate.guest.report import Report
from casemate.guest.stages import stage

Child = Callable[[Callable[[Report], None]], tuple[int, list[dict[str, Any]]]]


@pytest.fixture
def in_child(decode: Callable[[bytes], list[dict[str, Any]]]) -> Child:
    return lambda body: (lambda status, data: (status, decode(data)))(*forked(body))


def forked(body: Callable[[Report], None]) -> tuple[int, bytes]:
    """Exit status and report of a forked child."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            body(Report(writing))
        finally:
            os._exit(0)
    os.close(writing)
    data = b""
    while chunk := os.read(reading, 65536):
        data += chunk
    os.close(reading)
    return os.waitpid(child, 0)[1], data


def test_a_stage_has_a_start_and_an_end_with_its_seconds(in_child: Child) -> None:
    def body(report: Report) -> None:
        with stage(report, "step", {"step": 5.0}):
            time.sleep(0.02)

    status, records = in_child(body)
    assert status == 0
    assert records[0] == {"kind": "stage", "name": "step", "event": "start"}
    assert records[1]["event"] == "end"
    assert 0.02 <= records[1]["seconds"] < 2


def test_a_stage_that_raises_has_an_end_too(in_child: Child) -> None:
    def body(report: Report) -> None:
        with pytest.raises(ValueError, match="x"), stage(report, "script", {}):
            raise ValueError("x")

    assert [record["event"] for record in in_child(body)[1]] == ["start", "end"]


def test_a_budget_that_is_over_ends_the_process_whatever_handler_and_mask_it_left(in_child: Child) -> None:
    def body(report: Report) -> None:
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
        with stage(report, "facts", {"facts": 0.1}):
            time.sleep(20)

    status, records = in_child(body)
    assert os.WTERMSIG(status) == signal.SIGALRM
    assert [record["event"] for record in records] == ["start"]


def test_the_next_stage_is_not_ended_by_the_last_budget(in_child: Child) -> None:
    def body(report: Report) -> None:
        with stage(report, "step", {"step": 0.05}):
            pass
        with stage(report, "facts", {}):
            time.sleep(0.15)

    status, records = in_child(body)
    assert status == 0
    assert len(records) == 4
