"""What is fuzzed by one function on one piece of bytes: how a case is judged, made up, and begun with.

A check gets the bytes of one case and returns a word for what became of it; whatever it raises is a finding. It runs in
a fork under `cpu` seconds of processor time and `memory` bytes of address space (judge.py). The other targets, which
need sandboxes, are peers.py and admitted.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hypothesis.strategies import SearchStrategy

from fuzz import gate, reports, sources, trees, wire
from fuzz.judge import Check


@dataclass(frozen=True, slots=True)
class Target:
    """One thing to fuzz."""

    checks: tuple[Check, ...]
    cases: SearchStrategy[bytes]
    seeds: Callable[[], list[bytes]]
    """Cases that coverage-guided fuzzing begins with."""
    covers: tuple[str, ...]
    """Packages whose coverage guides it; none where bytes are only a recipe."""
    cpu: int
    memory: int


TARGETS = {
    # The gate's own limits: guest.script.GATE_CPU, and `gate_memory` of the shipped profiles.
    "gate": Target((gate.cad, gate.minimal), sources.SOURCES, sources.seeds, ("casemate.gate",), 2, 512 << 20),
    "wire": Target((wire.check,), wire.PACKETS, wire.seeds, ("casemate.launcher.spec",), 1, 64 << 20),
    "reports": Target((reports.check,), reports.REPORTS, reports.seeds, ("casemate.runtime.report",), 4, 512 << 20),
    "trees": Target((trees.check,), trees.TREES, list, (), 2, 256 << 20),
}
