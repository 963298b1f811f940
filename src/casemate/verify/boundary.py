"""The boundary as a table: each property, what holds it, where, what checks it, what is not covered, its state here.

Two things make a row. The profile's values go into what a mechanism says. Each mechanism stands on layers
(properties.py), and a layer is on if a real job's steps read it back so (`enforcement.layers`). A property is enforced
if every layer of every mechanism was on, degraded if what is missing is what the profile permits to be missing, and
otherwise not enforced. Nothing here says that a layer is on: only the job does.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from casemate.control.host import Host
from casemate.errors import SandboxFault
from casemate.model import Enforcement, Layer, Reason
from casemate.policy import Profile
from casemate.verify.model import Probe
from casemate.verify.properties import BOUNDARY, INSPECT, PERMITTED, TEMPLATE, Mechanism, Row
from casemate.verify.tables import selected

ENFORCED, DEGRADED, MISSING = "enforced", "degraded", "not enforced"
PART = "import cadquery as cq\nresult = cq.Workplane().box(1, 1, 1)\n"
PLAIN = "print(1)\n"


@dataclass(frozen=True, slots=True)
class Holding:
    """What holds a property, where it is enforced, and what was read back of the layers that it stands on."""

    what: str
    where: str
    layers: tuple[Layer, ...]


@dataclass(frozen=True, slots=True)
class State:
    """A row as it is on this host."""

    property: str
    state: str
    mechanisms: tuple[Holding, ...]
    probes: tuple[str, ...]
    """Ids of the probes of `casemate verify` that check it under this profile."""
    not_held: tuple[str, ...]
    """What the profile itself says of it."""
    not_covered: str

    def missing(self) -> tuple[str, ...]:
        """Layers that were not on."""
        layers = [layer for holding in self.mechanisms for layer in holding.layers]
        return tuple(dict.fromkeys(layer.name for layer in layers if not layer.on))


def boundary(name: str) -> tuple[Profile, Enforcement, tuple[State, ...]]:
    """The table for this host: one real job under the profile, and what was read back of it.

    Raises PolicyError if nothing runs under that profile here, SandboxFault if the job does not come to its end.
    """
    with Host() as host:
        profile = host.request("", name, None, None, "local", "local").plan.profile
        result = host.run(PART if profile.artifacts.inspection != "none" else PLAIN, name)
    if result.outcome.reason is not Reason.EXITED or result.outcome.exit_code != 0:
        raise SandboxFault(f"the job that shows the layers ended as {result.outcome.reason}: {result.outcome.message}")
    return profile, result.enforcement, states(profile, result.enforcement)


def states(profile: Profile, enforcement: Enforcement) -> tuple[State, ...]:
    """Each row, from the layers of a job under the profile."""
    probes = selected((), profile, root=os.geteuid() == 0)
    return tuple(_state(row, profile, enforcement, probes) for row in BOUNDARY)


def _state(row: Row, profile: Profile, enforcement: Enforcement, probes: Iterable[Probe]) -> State:
    told = {layer.name: layer for layer in enforcement.layers}
    mechanisms = tuple(_holding(mechanism, profile, told) for mechanism in row.mechanisms)
    off = [layer.name for holding in mechanisms for layer in holding.layers if not layer.on]
    excused = all(PERMITTED.get(name.removeprefix(f"{INSPECT}."), "-") in enforcement.degraded for name in off)
    # What a profile says that it does not hold without controllers is said of hosts that lack them.
    lacking = any(name.startswith("cgroup-") for name in enforcement.degraded)
    not_held = [text for text in profile.layers.not_held if text.partition(":")[0] in row.rows]
    return State(
        row.property, ENFORCED if not off else DEGRADED if excused else MISSING, mechanisms,
        tuple(probe.id for probe in probes if probe.row == row.property),
        tuple(text if lacking or not text.startswith("limits.") else f"without cgroups, which are here: {text}"
              for text in not_held),
        row.not_covered,
    )  # fmt: skip


def _holding(mechanism: Mechanism, profile: Profile, told: dict[str, Layer]) -> Holding:
    template = next((layer for name, layer in told.items() if name.startswith(f"{TEMPLATE}.")), None)
    layers = []
    for name in _expanded(mechanism.layers, profile):
        found = template if name == TEMPLATE else told.get(name)
        layers.append(found or Layer(name, False, "not told"))
    return Holding(mechanism.what(profile), mechanism.where, tuple(layers))


def sandbox_layers() -> tuple[str, ...]:
    """Every layer of a sandbox that a row stands on: what the second one must have as well."""
    named = (layer for row in BOUNDARY for mechanism in row.mechanisms for layer in mechanism.layers)
    return tuple(dict.fromkeys(name for name in named if name.startswith(("init.", "exec.", "guest.", "keeper."))))


def _expanded(layers: Iterable[str], profile: Profile) -> tuple[str, ...]:
    found: list[str] = []
    for layer in layers:
        if layer != INSPECT:
            found.append(layer)
        elif profile.artifacts.inspection == "required":
            found += [f"{INSPECT}.{name}" for name in sandbox_layers()]
    return tuple(found)
