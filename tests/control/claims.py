"""A keeper's facts and a guest's claims, made by hand."""

from __future__ import annotations

import dataclasses
from typing import Any

from runtime import records

from casemate.runtime import report
from casemate.runtime.rooms import Ended

OK = Ended(
    id="x", reason="exited", limit="", exit_code=0, signal=0, wall=1.0, teardown=0.01, cpu=0.5,
    memory_peak=1 << 20, processes_peak=2, disk_bytes=4096, refused=(), stdout_total=0,
    stderr_total=0, report_total=100, layers=(),
)  # fmt: skip
BUDGETS = {"handover": 20.0, "step": 30.0, "facts": 45.0}
GATE, HANDOVER = records.GATE, records.HANDOVER
DENIAL = {
    "code": "import", "message": "os is not allowed", "line": 3, "column": 7, "node": "Import", "name": "os",
    "source_line": "import os", "hint": "",
}  # fmt: skip
DENIED = {**GATE, "admitted": False, "denials": [DENIAL]}
NOPARTS = {"kind": "noparts", "verdict": "no_result", "message": "nothing to hand over"}
FACTS = {**records.FACTS, "bounding_box": [0, 0, 0, 10, 20, 30]}


def ended(**facts: Any) -> Ended:
    return dataclasses.replace(OK, **facts)


def told(*claimed: dict[str, Any], damaged: str = "") -> report.Report:
    parsed = report.parse(b"".join(map(records.record, claimed)))
    assert not parsed.damaged, parsed.damaged
    return report.Report(parsed.records, damaged)


def stage(name: str, event: str = "start") -> dict[str, Any]:
    return {"kind": "stage", "name": name, "event": event, "seconds": 0.0 if event == "start" else 0.5}


def error(type_: str = "ValueError", at: str = "script") -> dict[str, Any]:
    return {
        "kind": "error", "stage": at, "type": type_, "message": "no", "line": 4, "source_line": "x()",
        "function": "f", "hint": "try y",
    }  # fmt: skip


def part(verdict: str = "part", name: str = "part", file: str | None = "part.step", **facts: Any) -> dict[str, Any]:
    return {
        "kind": "part", "name": name, "verdict": verdict, "file": file, "facts": {**FACTS, **facts}, "message": "why",
    }  # fmt: skip
