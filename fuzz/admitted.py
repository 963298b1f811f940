"""What the gate admits, run in a real sandbox: no effect outside of it. programs/admitted.py runs and looks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from harness import confined, wait_until
from hypothesis import strategies as st

from fuzz import sources
from fuzz.judge import Judge

FUZZ = Path(__file__).parent
SECONDS = 3.0
"""What each script has: most have ended long before, and what a script can do it can do in that."""

SCRIPTS = st.one_of(sources.TREES, sources.TREES, sources.SPLICED, sources.damaged())
"""Of these many are admitted; of random bytes hardly any that does something."""


def run(scripts: list[bytes], directory: Path, *, walls: bool = True, timeout: float = 170.0) -> dict[str, Any]:
    """Run admitted scripts in the harness; {"said": {word: how many}, "wrong": [script, why] | None}.

    With `walls` False they run as plain Python in a process beside (the twin).
    """
    file = directory / "scripts"
    file.write_text(json.dumps([script.decode("latin-1") for script in scripts]), "utf-8")
    program = str(FUZZ / "programs" / "admitted")
    with confined(program, str(file), str(SECONDS), "walls" if walls else "plain") as running:
        told: dict[str, Any] = running.finish(timeout)
        assert told["wrong"] or wait_until(lambda: not running.group.members(), 5.0)
    return told


def only(scripts: list[bytes]) -> list[bytes]:
    """Those that the gate admits under the rules `cad`."""
    with Judge("gate") as judge:
        told = judge.each(scripts)
    return [script for script, one in zip(scripts, told, strict=True) if one.said[0] == "admitted"]
