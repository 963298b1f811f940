"""The suite on this host; all of it is run by tests/cli/test_verify.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from casemate.control.host import Host, strongest
from casemate.control.profiles import profile_text
from casemate.errors import PolicyError, SandboxFault
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


@pytest.mark.parametrize("unit", ["task", "session", "user"])
def test_two_actors_of_a_tenant_share_nothing_under_any_unit(unit: str, profile: str, tmp_path: Path) -> None:
    """As `execution` has it in the shipped profiles: another actor, and another tenant, beside us in the same room."""
    text = profile_text(profile)
    assert text.count('unit = "execution"') == 1
    file = tmp_path / f"{unit}.toml"
    file.write_text(text.replace('unit = "execution"', f'unit = "{unit}"'), "utf-8")
    only = ("neighbours", "tenants.here-files", "tenants.here-signal-term", "tenants.here-namespace-pid")
    found = run.verify(Settings(str(file), only=only, template="light"))
    assert {finding.id: finding.evidence for finding in found.findings if finding.verdict is not Verdict.HELD} == {}
    assert sum(finding.family == "neighbours" for finding in found.findings) >= 20


def test_another_runtime_must_be_what_the_profile_then_says(tmp_path: Path) -> None:
    with pytest.raises(PolicyError):
        run.verify(Settings("cad", runtime="\u00e9"))
    text = profile_text("cad").replace('runtime = "native"', "runtime = 'native'")
    line = next(line for line in text.splitlines() if line.startswith("description"))
    file = tmp_path / "own.toml"
    file.write_text(text.replace(line, 'description = """\nruntime = "native"\n"""'), "utf-8")
    with pytest.raises(PolicyError, match="the line of its runtime"):
        run.verify(Settings(str(file), runtime="crun"))


def test_a_profile_that_changes_under_way_is_no_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "own.toml"
    file.write_text(profile_text("strict"), "utf-8")

    def changed() -> dict[str, str]:
        with file.open("a") as opened:
            opened.write("# another\n")
        return environment()

    environment = run._environment
    monkeypatch.setattr(run, "_environment", changed)
    with pytest.raises(SandboxFault, match="changed"):
        run.verify(Settings(str(file), only=("environment.python",)))


def test_a_stage_that_ends_early_is_a_fault_and_no_verdict(profile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "STAGE", "casemate.no_such_module")
    with pytest.raises(run.SandboxFault, match=r"did not come to its end: .*No module named"):
        run.verify(Settings(profile, only=("environment.python",)))
