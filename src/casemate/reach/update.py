"""The whole of an update: survey, propose, walk what is proposed until nothing bad is met, compare."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from casemate.control.host import Host
from casemate.errors import SandboxFault
from casemate.gate.tables import attributes, denied_attributes, denied_reached
from casemate.reach import decide, decisions, survey
from casemate.reach.report import Walk
from casemate.runtime.images import Image

ROUNDS = 6
"""Walks until one is clean."""


@dataclass(frozen=True, slots=True)
class Update:
    """Tables for an image, what differs from today's, and the clean walk through them."""

    image: Image
    python: str
    versions: dict[str, str]
    proposal: decide.Proposal
    differences: tuple[decide.Difference, ...]
    walk: Walk
    rounds: int

    @property
    def equal(self) -> bool:
        """True if today's tables have the names that the image gives; reasons may read otherwise."""
        return not any(one.added or one.removed for one in self.differences)

    def made_from(self) -> tuple[str, ...]:
        """The lines that the made files begin with."""
        libraries = ", ".join(f"{name} {version}" for name, version in sorted(self.versions.items()))
        return (
            f"Made by `casemate gate update --write` from image {self.image.name},",
            f"digest {self.image.digest},",
            f"Python {self.python}, {libraries}.",
        )


def current() -> decide.Tables:
    """Today's tables, as the gate reads them."""
    modules = {}
    for surface in decisions.SURFACES:
        module = import_module(f"casemate.gate.tables.{surface.file}")
        modules[surface.module] = dict(getattr(module, surface.constant))
    return decide.Tables(dict(attributes.ALLOWED), modules, dict(denied_reached.REACHED))


def update(host: Host, image: Image, progress: Callable[[str], None] = lambda _: None) -> Update:
    """Work out the tables; raises SandboxFault if no walk through them was whole and clean: then there are none."""
    today, denied = current(), denied_attributes.DENIED
    progress("reading what the libraries have")
    surveyed = survey.survey(host, image)
    found = decide.Found()
    for number in range(1, ROUNDS + 1):
        proposal = decide.propose(surveyed, today, denied, found)
        progress(f"walking what is reachable, {number}")
        walk = survey.walk(host, image, proposal.tables.modules, proposal.tables.attributes)
        if walk.stopped:
            raise SandboxFault(
                f"the walk met its bound of {walk.stopped} after {walk.objects} objects: nothing is proved, so there "
                "are no tables"
            )
        fresh = decide.against(walk.findings, proposal)
        if not fresh.attributes and not fresh.modules:
            return Update(
                image, surveyed.python, dict(surveyed.versions), proposal, decide.differences(today, proposal), walk,
                number,
            )  # fmt: skip
        found = decide.Found({**found.attributes, **fresh.attributes}, {**found.modules, **fresh.modules})
    raise SandboxFault(f"{ROUNDS} walks found more each time, the last {len(walk.findings)}: there are no tables")
