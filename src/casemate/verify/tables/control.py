"""The process above the guest, which is trusted: its limits, cores, priority, signals, memory."""

from __future__ import annotations

from casemate.verify.model import Probe
from casemate.verify.tables.rows import CONTROL

MINIMUM = 8
_B = "control"


def _above(name: str, what: str, code: str, trace: str, twin: str = "powers", *, isolated: bool = True) -> Probe:
    return Probe(f"control.{name}", what, CONTROL, code, twin, "look", _B, f"above {trace}", isolated=isolated)


PROBES: tuple[Probe, ...] = (
    _above("limits", "lowers a limit of the process above it", "limited()", "open 77"),
    _above("affinity", "chooses the cores of the process above it", "pinned()", "cores"),
    _above("nice", "lowers the priority of the process above it", "reprioritised()", "nice"),
    # Not in a fork: who traces must live to be seen.
    _above("trace", "traces the process above it", "traced()", "tracer", "proc-tracing", isolated=False),
    _above("dumpable", "could open what belongs to the process above it", "''", "dumpable", "undumpable"),
    _above("environment", "has an environment above it that tells something", "''", "secret environ", "environment"),
    _above("command-line", "has a command line above it that tells something", "''", "secret cmdline", "command-line"),
    Probe("control.interrupt", "sends the process above it every signal", CONTROL, "interrupted()", "first-signals",
          "outcome", "signals", expect="exited"),
)  # fmt: skip
AS_ROOT = frozenset({"control.dumpable", "control.environment", "control.command-line"})
"""A user may not look at what is not dumpable, and has one uid."""
