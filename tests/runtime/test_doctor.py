"""The examination of this host, and a probe that gives no answer."""

from __future__ import annotations

import os

import pytest

from casemate.errors import SandboxFault
from casemate.policy import HostFacts
from casemate.runtime import doctor, process


def test_this_host() -> None:
    found = doctor.examine()
    assert {name for name, _ in found.layers} == {
        "user-namespaces", "seccomp", "landlock", "cgroup-memory", "cgroup-pids", "cgroup-cpu"
    }  # fmt: skip
    assert dict(found.host)["kernel"] == os.uname().release
    # The tests that follow build walls here, so these are there.
    assert HostFacts(found.layers).missing("user-namespaces") == ""
    assert HostFacts(found.layers).missing("seccomp") == ""


@pytest.mark.parametrize(
    "printed",
    [b"", b"{", b"[]", b"7", b"null", b"{}", b'{"layers": {}}', b'{"layers": 3, "host": {}}', b"\xff",
     b'{"layers": [], "host": {}}', b'{"layers": {}, "host": null}'],
)  # fmt: skip
def test_a_probe_that_gives_no_answer_is_our_fault(monkeypatch: pytest.MonkeyPatch, printed: bytes) -> None:
    monkeypatch.setattr(process, "run_probe", lambda _: printed)
    with pytest.raises(SandboxFault, match="probe"):
        doctor.examine()


def test_a_probe_that_cannot_be_started_is_our_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    with pytest.raises(SandboxFault, match="cannot be started"):
        doctor.examine()
