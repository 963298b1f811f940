"""What the boundary is on this host under a profile: a row for each property, drawn from what was really enforced.

A property is held up by mechanisms, a mechanism stands on layers (properties.py),
and a layer is on if a real job's steps
read it back so (`enforcement.layers`). A property is enforced if every layer of every mechanism was on,
degraded if what
is missing is what the profile permits to be missing, and otherwise not enforced. Nothing here says that a layer is on:
only the job does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from casemate.control.host import Host
from casemate.errors import SandboxFault
from casemate.model import Enforcement, Reason
from casemate.policy import Profile
from casemate.verify.properties import BOUNDARY, INSPECT, PERMITTED, TEMPLATE, Row
from casemate.verify.tables import PROBES

ENFORCED, DEGRADED, MISSING = "enforced", "degraded", "not enforced"
PART = "import cadquery as cq\nresult = cq.Workplane().box(1, 1, 1)\n"
PLAIN = "print(1)\n"


@dataclass(frozen=True, slots=True)
class State:
    """A row as it is on this host."""

    property: str
    state: str
    mechanisms: tuple[str, ...]
    enforced_by: tuple[str, ...]
    probes: dict[str, int]
    """How many probes of each family check it."""
    missing: tuple[str, ...]
    """Layers that were not on."""
    not_held: tuple[str, ...]
    """What the profile itself says of it."""
    not_covered: str


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
    on = frozenset(layer.name for layer in enforcement.layers if layer.on)
    return tuple(_state(row, profile, enforcement.degraded, on) for row in BOUNDARY)


def _state(row: Row, profile: Profile, degraded: tuple[str, ...], on: frozenset[str]) -> State:
    wanted = [layer for mechanism in row.mechanisms for layer in _expanded(mechanism.layers, profile)]
    missing = tuple(dict.fromkeys(layer for layer in wanted if not _is_on(layer, on)))
    excused = all(PERMITTED.get(layer.removeprefix(f"{INSPECT}."), "-") in degraded for layer in missing)
    return State(
        row.property, ENFORCED if not missing else DEGRADED if excused else MISSING,
        tuple(mechanism.what(profile) for mechanism in row.mechanisms),
        tuple(dict.fromkeys(mechanism.where for mechanism in row.mechanisms)), probes_of(row.property), missing,
        tuple(text for text in profile.layers.not_held if text.partition(":")[0] in row.rows), row.not_covered,
    )  # fmt: skip


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


def _is_on(layer: str, on: frozenset[str]) -> bool:
    return layer in on or (layer == TEMPLATE and any(name.startswith(f"{TEMPLATE}.") for name in on))


def probes_of(name: str) -> dict[str, int]:
    """How many probes of each family check a property."""
    found: dict[str, int] = {}
    for probe in PROBES:
        if probe.row == name:
            found[probe.family] = found.get(probe.family, 0) + 1
    return found
