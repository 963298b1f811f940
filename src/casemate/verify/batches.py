"""The scenarios: each runs its probes in one or more sandboxes, looks outside, and says what was seen of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from casemate.verify.answers import answers_batch
from casemate.verify.jobs import jobs
from casemate.verify.model import Probe, Seen
from casemate.verify.neighbours import beside
from casemate.verify.recovery import recovery

if TYPE_CHECKING:
    from casemate.verify.stage import Stage

Scenario = Callable[["Stage", tuple[Probe, ...]], dict[str, Seen]]

BATCHES: dict[str, Scenario] = {
    "proc": answers_batch("proc"),
    "environment": answers_batch("inherited"),
    "files": answers_batch("files"),
    "descriptors": answers_batch("descriptors"),
    "identity": answers_batch("identity"),
    "kernel": answers_batch("kernel"),
    "own-filter": answers_batch("kernel"),  # by itself: where it can be added, it hides that there was none
    "network": answers_batch("network"),
    "processes": jobs,
    "memory": jobs,
    "disk": jobs,
    "time": jobs,
    "output": jobs,
    "artifacts": jobs,
    "control": answers_batch("control"),
    "signals": jobs,
    "neighbours": beside(),
    "tenants": beside(tenant="other", other_host=True),
    "tenants-here": beside(tenant="other"),
    "recovery": recovery,
    # Last: where nothing is bounded they leave nothing for others.
    "greedy-processes": beside(),
    "greedy-pipes": beside(),
    "greedy-files": beside(),
    "greedy-inodes": beside(),
}
