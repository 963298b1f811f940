"""What `casemate boundary` and `casemate verify` print with `--json`."""

from __future__ import annotations

from dataclasses import dataclass

from casemate.verify.boundary import State
from casemate.verify.judge import counts
from casemate.verify.model import Finding, Report


@dataclass(frozen=True, slots=True)
class BoundaryDocument:
    """`casemate boundary`: each property of the boundary as it is enforced here, from the layers of one job."""

    profile: str
    profile_digest: str
    image_digest: str
    runtime: str
    host: dict[str, str]
    degraded: tuple[str, ...]
    rows: tuple[State, ...]
    exit_status: int


@dataclass(frozen=True, slots=True)
class VerifyDocument:
    """`casemate verify`: a finding for each probe, how many have each verdict, and under what it was tried."""

    profile: str
    profile_digest: str
    image_digest: str
    runtime: str
    host: dict[str, str]
    began: str
    seconds: float
    ok: bool
    counts: dict[str, int]
    findings: tuple[Finding, ...]
    not_held: tuple[str, ...]
    exit_status: int


def of_verification(report: Report, exit_status: int) -> VerifyDocument:
    """A report of the adversarial suite."""
    return VerifyDocument(
        report.profile, report.profile_digest, report.image_digest, report.runtime, dict(report.host), report.began,
        report.seconds, report.ok, counts(report.findings), report.findings, report.not_held, exit_status,
    )  # fmt: skip
