"""What this host can enforce: the launcher's probe, run once in a process of its own."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from casemate.errors import SandboxFault
from casemate.runtime import process

PACKAGE = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Examination:
    """For each layer "" if it is there, else the reason and the remedy; and what is worth telling about the host."""

    layers: tuple[tuple[str, str], ...]
    host: tuple[tuple[str, str], ...]


def examine() -> Examination:
    """Probe this host; raises SandboxFault if the probe itself cannot run."""
    try:
        found = json.loads(process.run_probe(PACKAGE))
        layers = tuple((str(name), str(why)) for name, why in found["layers"].items())
        host = tuple((str(name), str(text)) for name, text in found["host"].items())
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SandboxFault(f"the probe of this host gave no answer: {error}") from error
    return Examination(layers, host)
