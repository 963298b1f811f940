"""Frozen values of the adversarial suite."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """What became of one probe; all but HELD and DECLARED_OPEN are failures."""

    HELD = "held"
    OPEN = "open"
    INCONCLUSIVE = "inconclusive"
    DECLARED_OPEN = "declared-open"
    """Open, and the profile names it among what it does not hold."""


DEADLINE = 10.0
"""Seconds that a job may take, unless its probe says otherwise."""
VM = "vm"
"""The twin of a probe whose effect would be host-wide: it is shown in a virtual machine, nowhere else."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One attempt. Its family is what stands before the first dot of `id`."""

    id: str
    what: str
    """What is tried, for people."""
    row: str
    """The row of the boundary that it checks."""
    code: str
    """An expression (`isolated`) or statements, evaluated inside; what it gives is empty where the wall holds."""
    twin: str
    """The guard that is taken out to show that the attack works (guards.GUARDS), or VM."""
    witness: str
    """What is looked at outside (judge.WITNESSES)."""
    batch: str
    """The scenario that runs it (batches.BATCHES)."""
    trace: str = ""
    """Witness `look`: what the guest would have to show in the host's /proc."""
    isolated: bool = True
    """In a fork of the guest; False where what it keeps must stay to be looked at."""
    declared: tuple[str, ...] = ()
    """Rows of a profile's `not_held` under which an open is declared."""
    expect: str = ""
    """Witness `outcome`: what the keeper must have seen, for batches of whole jobs (expect.py)."""
    limits: tuple[tuple[str, float], ...] = ()
    """Rows of the profile's [limits], tightened for this job: an open wall costs the host little then."""
    deadline: float = DEADLINE
    """Seconds that the job may take."""
    needs: tuple[str, ...] = ()
    """Calls, and "/tmp", without which there is no such road: a profile that has not all of them must refuse it."""
    killed: str = ""
    """What must be seen in place of `expect` where output past its bound ends the job."""
    unless: str = ""
    """What in a profile means to allow it, so that it is left out (admitted.ALLOWANCES)."""

    @property
    def family(self) -> str:
        """The first word of its id."""
        return self.id.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Seen:
    """What there is to judge one probe by."""

    answered: bool
    """The probe ran to its end inside: its own random word came out."""
    claim: str = ""
    """What the probe says that it got; "" if it was refused."""
    refusal: str = ""
    """How it says that it was refused."""
    effects: tuple[str, ...] = ()
    """What was seen outside that should not be."""
    blind: str = ""
    """Why an instrument outside cannot be trusted, "" if all saw their control."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One probe's verdict; `twin` is `open`, `open beyond`, `not shown`, `vm`, or "" where no twin was asked for."""

    id: str
    family: str
    row: str
    what: str
    verdict: Verdict
    witness: str
    evidence: str
    twin: str = ""


@dataclass(frozen=True, slots=True)
class Settings:
    """What to verify: a profile by name or file, the runtime it must have, probes by id or family (empty: all)."""

    profile: str
    runtime: str | None = None
    only: tuple[str, ...] = ()
    twins: bool = False
    template: str | None = None
    """The template to fork; None is the profile's own. The light one is ready sooner and has the same walls."""
    disposable: bool = False
    """With `twins`: also those whose effect is host-wide, since the host is a virtual machine to be thrown away."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a whole run found."""

    profile: str
    profile_digest: str
    image_digest: str
    runtime: str
    host: tuple[tuple[str, str], ...]
    began: str
    """UTC, ISO 8601."""
    seconds: float
    findings: tuple[Finding, ...]
    not_held: tuple[str, ...]
    only: tuple[str, ...] = ()
    """Probes or families that were asked for; empty: all."""
    twins: bool = False
    """Whether it was shown that each attack works with its guard taken out."""
    left_out: tuple[str, ...] = ()
    """Probes that the profile means to allow, or that a user other than root cannot have."""

    @property
    def ok(self) -> bool:
        """True if every probe was held, or is open and declared."""
        good = (Verdict.HELD, Verdict.DECLARED_OPEN)
        return bool(self.findings) and all(finding.verdict in good for finding in self.findings)
