"""The gate: an allowlist of what a CAD script may be made of, and messages that tell a model what to repair.

>>> rules = rules_named("cad")
>>> isinstance(check(b"import os", rules), Denied)
True
"""

from __future__ import annotations

from ..model import Denial, Notice
from .check import check
from .injected import EXPORT, IMPORT, INPUT, OWN_CLASS, STAR
from .rules import Rules, rules_named
from .verdict import Admitted, Denied

__all__ = [
    "EXPORT",
    "IMPORT",
    "INPUT",
    "OWN_CLASS",
    "STAR",
    "Admitted",
    "Denial",
    "Denied",
    "Notice",
    "Rules",
    "check",
    "rules_named",
]
