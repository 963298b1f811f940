"""What `casemate bench` prints with `--json`."""

from __future__ import annotations

from dataclasses import dataclass

from casemate.bench.measure import Figure
from casemate.bench.report import Machine


@dataclass(frozen=True, slots=True)
class BenchDocument:
    """`casemate bench`: the figures by suite; `value` over `aim` is better where `better` says higher."""

    machine: Machine
    suites: dict[str, tuple[Figure, ...]]
    notes: tuple[str, ...]
    exit_status: int
