"""The scenarios: each runs its probes in one or more sandboxes, looks outside, and says what was seen of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from casemate.verify.answers import answers_batch
from casemate.verify.model import Probe, Seen

if TYPE_CHECKING:
    from casemate.verify.stage import Stage

Scenario = Callable[["Stage", tuple[Probe, ...]], dict[str, Seen]]

BATCHES: dict[str, Scenario] = {
    "proc": answers_batch(),
    "environment": answers_batch("memory"),
    "network": answers_batch("network"),
}
