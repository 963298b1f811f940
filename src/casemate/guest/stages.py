"""Stages of a job: timed, told on the report, and held to a budget of their own by the kernel.

A native call holds the interpreter for as long as it lasts, so no handler of ours could end it: the timer's signal has
its default action, which ends the process, and the keeper names the stage from the record that has no end.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from casemate.guest.report import Report


def alarm(seconds: float) -> None:
    """Let the kernel end this process after so many seconds; 0 disarms."""
    signal.setitimer(signal.ITIMER_REAL, 0)
    if seconds > 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
        signal.setitimer(signal.ITIMER_REAL, seconds)


def refuse_by_error() -> None:
    """Let a gone reader and a file size limit be errors of the call (EPIPE, EFBIG), not the end of the process."""
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


@contextmanager
def stage(report: Report, name: str, budgets: Mapping[str, float]) -> Iterator[None]:
    """Run the body as the stage `name`, within `budgets[name]` seconds if it has a budget."""
    report.write("stage", name=name, event="start")
    began = time.monotonic()
    alarm(budgets.get(name, 0.0))
    try:
        yield
    finally:
        if name in budgets:
            alarm(0.0)
        report.write("stage", name=name, event="end", seconds=round(time.monotonic() - began, 6))
