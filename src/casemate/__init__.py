"""Casemate runs model-generated code as if it were hostile.

import casemate
result = casemate.run(source, profile="cad")
result.outcome.verdict, result.artifacts["part.step"].data, result.parts[0].facts
"""

from casemate.control.deadline import Deadline
from casemate.control.host import Host, Stock
from casemate.control.shared import arun, run
from casemate.errors import Busy, CasemateError, Denied, PolicyError, SandboxFault
from casemate.model import (
    Artifact,
    Denial,
    Enforcement,
    Facts,
    Layer,
    Limit,
    Notice,
    Outcome,
    Part,
    Reason,
    RunResult,
    ScriptError,
    Stage,
    Stream,
    Usage,
    Verdict,
)

__all__ = [
    "Artifact",
    "Busy",
    "CasemateError",
    "Deadline",
    "Denial",
    "Denied",
    "Enforcement",
    "Facts",
    "Host",
    "Layer",
    "Limit",
    "Notice",
    "Outcome",
    "Part",
    "PolicyError",
    "Reason",
    "RunResult",
    "SandboxFault",
    "ScriptError",
    "Stage",
    "Stock",
    "Stream",
    "Usage",
    "Verdict",
    "arun",
    "run",
]
