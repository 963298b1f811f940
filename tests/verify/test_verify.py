"""The suite on this host: all is held under each CAD profile."""

from __future__ import annotations

import pytest

from casemate.control.host import Host, strongest
from casemate.errors import PolicyError
from casemate.verify import run
from casemate.verify.model import Settings, Verdict

PROFILES = ("cad", "cad-minimal", "cad-fast")


@pytest.mark.parametrize("name", PROFILES)
def test_all_is_held(name: str, host: Host) -> None:
    if strongest(host) != "cad":
        pytest.skip("this host enforces cad-rlimit only")
    steps: list[tuple[str, int, int]] = []
    found = run.verify(Settings(name, template="light"), lambda *step: steps.append(step))
    assert {f.id: f.evidence for f in found.findings if f.verdict is not Verdict.HELD} == {}
    assert found.ok
    assert len(found.findings) >= 250
    assert [done for _, done, _ in steps] == list(range(1, len(found.findings) + 1))
    assert {total for _, _, total in steps} == {len(found.findings)}
    assert found.profile == name


def test_what_the_profile_does_not_hold_is_refused_or_declared(host: Host) -> None:
    # Where the controllers are there, cad-rlimit uses them, and nothing is open.
    found = run.verify(Settings("cad-rlimit", only=("memory.heap", "time.cpu-four"), template="light"))
    assert found.ok
    assert found.not_held
    expected = Verdict.HELD if strongest(host) == "cad" else Verdict.DECLARED_OPEN
    assert {finding.verdict for finding in found.findings} == {expected}


def test_another_runtime_than_the_profiles_is_refused(profile: str) -> None:
    with pytest.raises(PolicyError, match="to be verified under 'runsc'"):
        run.verify(Settings(profile, runtime="runsc"))


def test_a_stage_that_ends_early_is_a_fault_and_no_verdict(profile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "STAGE", "casemate.no_such_module")
    with pytest.raises(run.SandboxFault, match=r"did not come to its end: .*No module named"):
        run.verify(Settings(profile, only=("environment.python",)))
