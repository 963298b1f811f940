"""The probe tries each thing in a fork of its own and prints what it found."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from casemate.launcher import probe, syscalls

LAYERS = {"user-namespaces", "seccomp", "landlock", "cgroup-memory", "cgroup-pids", "cgroup-cpu"}


def test_prints_one_json_object_and_nothing_else(capfd: pytest.CaptureFixture[str]) -> None:
    assert probe.main([]) == 0
    out, err = capfd.readouterr()
    found = json.loads(out)
    assert err == ""
    assert set(found) == {"layers", "host"}
    assert set(found["layers"]) == LAYERS
    assert all(isinstance(text, str) for part in found.values() for text in part.values())
    assert found["host"]["kernel"] == os.uname().release
    assert found["host"]["user"] == ("root" if os.geteuid() == 0 else f"uid {os.geteuid()}")


def test_runs_without_the_package_and_without_an_environment() -> None:
    boot = (
        "import sys, types\npackage = types.ModuleType('casemate')\npackage.__path__ = [sys.argv[1]]\n"
        "sys.modules['casemate'] = package\nfrom casemate.launcher import probe\nsys.exit(probe.main([]))\n"
    )
    package = Path(probe.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", boot, str(package)], env={}, capture_output=True, check=True, timeout=60
    )
    assert set(json.loads(done.stdout)["layers"]) == LAYERS


def test_changes_nothing_in_its_own_process() -> None:
    def state() -> list[str]:
        namespaces = [os.readlink(f"/proc/self/ns/{name}") for name in os.listdir("/proc/self/ns")]
        fields = [
            line
            for line in Path("/proc/self/status").read_text().splitlines()
            if line.startswith(("Seccomp", "NoNewPrivs", "Cap", "Uid"))
        ]
        return sorted(namespaces) + fields + sorted(os.listdir("/proc/self/fd"))

    before = state()
    for action in (probe._user_namespaces, probe._seccomp, probe._landlock):
        probe._tried(action)
    assert state() == before


def test_an_attempt_that_works_gives_no_reason() -> None:
    assert probe._tried(lambda: None) == ""


def refuse() -> None:
    raise PermissionError(1, "unshare: no")


def say_nothing() -> None:
    raise ValueError


@pytest.mark.parametrize(
    ("action", "text"),
    [
        (refuse, "unshare: no"),
        (say_nothing, "1"),
        (lambda: os.kill(os.getpid(), signal.SIGSYS), str(-int(signal.SIGSYS))),  # a filter that kills
        (lambda: os._exit(5), "5"),
    ],
)
def test_an_attempt_that_fails_in_any_way_gives_one(action: object, text: str) -> None:
    assert text in probe._tried(action)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "value", "remedy"),
    [
        ("user/max_user_namespaces", "0", "sysctl -w user.max_user_namespaces="),
        ("kernel/unprivileged_userns_clone", "0", "sysctl -w kernel.unprivileged_userns_clone=1"),
        ("kernel/apparmor_restrict_unprivileged_userns", "1", "AppArmor"),
        ("", "", "kernel"),
    ],
)
def test_the_remedy_fits_the_reason(monkeypatch: pytest.MonkeyPatch, name: str, value: str, remedy: str) -> None:
    monkeypatch.setattr(probe, "_sysctl", lambda asked: value if asked == name else "")
    assert remedy in probe._user_namespace_remedy()


def test_a_kernel_without_landlock_is_told(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(syscalls, "landlock_abi", lambda: 0)
    probe.main([])
    found = json.loads(capfd.readouterr().out)
    assert "remedy" in found["layers"]["landlock"]
    assert found["host"]["landlock"] == "ABI 0"
