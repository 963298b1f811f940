"""What one job leaves, looked for by the next and on the host."""

from __future__ import annotations

from casemate.verify.model import Probe
from casemate.verify.tables.rows import ARTIFACTS, REUSE, SURVIVAL

MINIMUM = 10


def _next(name: str, what: str, code: str, twin: str = "recovery", row: str = REUSE) -> Probe:
    return Probe(f"recovery.{name}", what, row, code, twin, "next", "recovery")


PROBES: tuple[Probe, ...] = (
    _next("walk", "walks for an earlier job's files", "files_in('/')"),
    _next("tmp", "opens an earlier job's file by its name", "by_name('/tmp')"),
    _next("hidden", "opens an earlier job's hidden file", "by_name('/tmp/.hidden')"),
    _next("job-directories", "looks for earlier job directories", "other_jobs()"),
    _next("disk-used", "sees that something was written before", "used()"),
    _next("shared-memory", "finds an earlier job's System V memory", "shared()", "recovery-ipc"),
    _next("modules", "finds what an earlier job put into the interpreter", "modules()", "recovery-template"),
    _next("heap", "finds an earlier job's secret in its own heap", "own_heap()", "recovery-template"),
    Probe("recovery.on-the-host", "left files or groups on the host", SURVIVAL, "nothing()", "recovery-host", "census",
          "recovery"),
    Probe("recovery.artifacts", "left files that nobody asked for", ARTIFACTS, "files_in(os.path.dirname(os.getcwd()))",
          "recovery", "next", "recovery"),
)  # fmt: skip
