"""Exit statuses (docs/results.md)."""

from __future__ import annotations

from casemate.errors import Busy, CasemateError, Denied
from casemate.model import Outcome, Reason

WELL, FAILED, USAGE, DENIED, FAULT, BUSY, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130


def of_outcome(outcome: Outcome) -> int:
    """Of a run that has a result."""
    if outcome.ok:
        return WELL
    special = {Reason.POLICY: DENIED, Reason.LOST: FAULT, Reason.CANCELLED: INTERRUPTED}
    return special.get(outcome.reason, FAILED)


def of_error(error: CasemateError) -> int:
    """Of a run that has none."""
    if isinstance(error, Denied):
        return DENIED
    return BUSY if isinstance(error, Busy) else FAULT
