"""Profiles of plain programs: what they mean to allow is left out (test_tables), all else of it is held."""

from __future__ import annotations

import pytest

from casemate.control.host import PLAIN, Host, strongest
from casemate.verify import run
from casemate.verify.model import Settings, Verdict


@pytest.mark.parametrize(
    ("name", "families"),
    [
        ("python", ("proc", "environment", "files", "network", "artifacts")),
        ("strict", ("kernel", "processes", "output")),
    ],
)
def test_what_only_they_have_is_held(name: str, families: tuple[str, ...], host: Host) -> None:
    general = strongest(host, PLAIN)
    if name == "strict" and general != "python":
        pytest.skip("strict needs controllers")
    found = run.verify(Settings(general if name == "python" else name, only=families))
    assert {f.id: f.evidence for f in found.findings if f.verdict is not Verdict.HELD} == {}
    assert {finding.family for finding in found.findings} == set(families)
