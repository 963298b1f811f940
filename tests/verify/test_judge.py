"""Verdicts from hand-made evidence: what a probe says can only make things worse."""

from __future__ import annotations

import pytest

from casemate.verify import judge
from casemate.verify.model import Finding, Probe, Report, Seen, Verdict

PROBE = Probe(
    "memory.road", "takes memory", "memory", "take()", "memory", "outcome", "memory", declared=("limits.memory",)
)
NOT_HELD = ("limits.memory: of several processes together",)


@pytest.mark.parametrize(
    ("seen", "verdict"),
    [
        (Seen(True, refusal="EPERM"), Verdict.HELD),
        (Seen(True), Verdict.HELD),
        (Seen(True, claim="it worked"), Verdict.OPEN),
        (Seen(True, refusal="EPERM", effects=("the canary came out",)), Verdict.OPEN),
        (Seen(False, effects=("a process lives on",)), Verdict.OPEN),
        (Seen(True, refusal="NameError name 'libc' is not defined"), Verdict.INCONCLUSIVE),
        (Seen(True, refusal="TypeError"), Verdict.INCONCLUSIVE),
        (Seen(True, refusal="RuntimeError can't start new thread"), Verdict.HELD),
        (Seen(False), Verdict.INCONCLUSIVE),
        (Seen(False, refusal="the job was lost"), Verdict.INCONCLUSIVE),
        (Seen(True, refusal="EPERM", blind="the listeners saw nothing of ours"), Verdict.INCONCLUSIVE),
        (Seen(True, claim="it worked", blind="nobody looked"), Verdict.OPEN),
    ],
)
def test_verdict(seen: Seen, verdict: Verdict) -> None:
    assert judge.finding(PROBE, seen).verdict is verdict


def test_declared_is_only_what_the_profile_names() -> None:
    seen = Seen(True, claim="all 160")
    assert judge.finding(PROBE, seen, NOT_HELD).verdict is Verdict.DECLARED_OPEN
    assert judge.finding(PROBE, seen, ("limits.cpus: the share of a core",)).verdict is Verdict.OPEN
    assert judge.finding(PROBE, Seen(True, refusal="ENOMEM"), NOT_HELD).verdict is Verdict.HELD
    assert judge.finding(PROBE, Seen(False), NOT_HELD).verdict is Verdict.INCONCLUSIVE


def test_a_twin_that_is_not_open_makes_a_held_probe_prove_nothing() -> None:
    held = judge.finding(PROBE, Seen(True, refusal="EPERM"))
    opened = judge.finding(PROBE, Seen(True, claim="all"))
    assert judge.with_twin(held, opened) == Finding(**{**_fields(held), "twin": "open"})
    assert judge.with_twin(held, opened, beyond=True).twin == "open beyond"
    for twin in (held, judge.finding(PROBE, Seen(False)), None):
        assert judge.with_twin(held, twin).verdict is Verdict.INCONCLUSIVE
        assert judge.with_twin(opened, twin).verdict is Verdict.OPEN
    assert judge.in_vm(held).verdict is Verdict.HELD
    assert judge.in_vm(held).twin == "vm"


@pytest.mark.parametrize(
    ("verdicts", "ok"),
    [
        ((Verdict.HELD,), True), ((Verdict.HELD, Verdict.DECLARED_OPEN), True), ((Verdict.HELD, Verdict.OPEN), False),
        ((Verdict.INCONCLUSIVE,), False), ((), False),
    ],
)  # fmt: skip
def test_a_report_is_well_only_if_something_was_held_and_nothing_failed(
    verdicts: tuple[Verdict, ...], ok: bool
) -> None:
    findings = tuple(Finding(f"x.{n}", "x", "memory", "", v, "look", "") for n, v in enumerate(verdicts))
    assert Report("cad", "d", "i", "native", (), "now", 1.0, findings, ()).ok is ok


def test_evidence_is_one_line_of_what_can_be_printed() -> None:
    found = judge.finding(PROBE, Seen(True, claim="a\nb\x1b[2Jc\u202e" + "x" * 1000))
    assert found.evidence.startswith("the probe got: a\\nb\\x1b[2Jc\\u202ex")
    assert len(found.evidence) == 600


def _fields(found: Finding) -> dict[str, object]:
    return {name: getattr(found, name) for name in Finding.__dataclass_fields__}
