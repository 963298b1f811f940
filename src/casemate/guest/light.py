"""Makes the light template warm: the gate and the script runner, and no CAD library."""

from __future__ import annotations

from casemate.gate import rules_named
from casemate.guest import script

RULES = ("cad", "cad-minimal")


def warm() -> None:
    """Load what `script.check` needs."""
    assert callable(script.check)
    for name in RULES:
        rules_named(name)
