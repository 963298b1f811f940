"""What is tried, a table for each family. MINIMUM holds how many probes each family must have at least."""

from __future__ import annotations

from casemate.verify.model import Probe
from casemate.verify.tables import environment, network, proc

FAMILIES = {"proc": proc, "environment": environment, "network": network}
PROBES: tuple[Probe, ...] = tuple(probe for module in FAMILIES.values() for probe in module.PROBES)
MINIMUM: dict[str, int] = {name: module.MINIMUM for name, module in FAMILIES.items()}
SYSCALLS: tuple[str, ...] = ()
