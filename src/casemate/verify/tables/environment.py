"""What a guest inherits in its environment and its memory."""

from __future__ import annotations

from casemate.verify.model import Probe

MINIMUM = 1

PROBES = (
    Probe(
        "environment.memory", "looks for the caller's environment in all of its own memory", "credentials",
        "scan_memory()", "environment", "canary", "environment",
    ),
)  # fmt: skip
