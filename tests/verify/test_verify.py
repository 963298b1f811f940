"""The suite on this host; all of it is run by tests/cli/test_verify.py."""

from __future__ import annotations

import pytest

from casemate.control.host import Host, strongest
from casemate.verify import run
from casemate.verify.model import Settings, Verdict


def test_what_the_profile_does_not_hold_is_refused_or_declared(host: Host) -> None:
    # Where the controllers are there, cad-rlimit uses them, and nothing is open.
    steps: list[tuple[str, int, int]] = []
    wanted = ("memory.heap", "time.cpu-four")
    found = run.verify(Settings("cad-rlimit", only=wanted, template="light"), lambda *step: steps.append(step))
    assert found.ok
    assert found.not_held
    expected = Verdict.HELD if strongest(host) == "cad" else Verdict.DECLARED_OPEN
    assert {finding.verdict for finding in found.findings} == {expected}
    assert steps == [("memory.heap", 1, 2), ("time.cpu-four", 2, 2)]


def test_a_stage_that_ends_early_is_a_fault_and_no_verdict(profile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "STAGE", "casemate.no_such_module")
    with pytest.raises(run.SandboxFault, match=r"did not come to its end: .*No module named"):
        run.verify(Settings(profile, only=("environment.python",)))
