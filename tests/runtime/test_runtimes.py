"""Runtimes that are there, missing, broken, or somebody else's; and the filter that a room gets."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from runtimes import INSTALLED, require, stand_in

from casemate.errors import SandboxFault
from casemate.runtime import runtimes, seccomp


@pytest.mark.parametrize("name", INSTALLED)
def test_an_installed_runtime_says_its_version(name: str) -> None:
    require(name)
    found = runtimes.find(name)
    assert os.path.basename(found.command) == name
    assert found.version.startswith(f"{name} version ")


def test_a_missing_one_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(runtimes, "SEARCH", str(tmp_path))
    found = runtimes.find("kata")
    assert found.command == found.version == ""
    assert f"no kata-runtime in {tmp_path}; remedy: install it" in found.reason


def test_a_named_one_that_is_not_there(tmp_path: Path) -> None:
    assert "No such file" in runtimes.find("crun", tmp_path / "crun").reason


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("#!/bin/sh\necho broken >&2\nexit 1\n", "ended with status 1: broken"),
        ("#!/bin/sh\nexec sleep 60\n", "did not end within"),
        ("#!/bin/sh\n", "does not say its version"),
        ("no program\n", "cannot be started"),
    ],
)
def test_a_broken_one_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: str, told: str) -> None:
    monkeypatch.setattr(runtimes, "VERSION_SECONDS", 0.3 if "sleep" in program else 10.0)
    path = tmp_path / "runc"
    path.write_text(program, "utf-8")
    path.chmod(0o700)
    assert told in runtimes.find("runc", path).reason


@pytest.mark.parametrize(("file", "directory"), [(0o722, 0o700), (0o770, 0o700), (0o700, 0o777)])
def test_one_that_others_could_replace_is_not_used(tmp_path: Path, file: int, directory: int) -> None:
    place = tmp_path / "bin"
    place.mkdir()
    path = stand_in(place, "")
    assert runtimes.find("crun", path).reason == ""
    path.chmod(file)
    place.chmod(directory)
    assert "could be replaced by another user" in runtimes.find("crun", path).reason


def test_a_link_is_followed_to_what_it_names(tmp_path: Path) -> None:
    path = stand_in(tmp_path, "")
    link = tmp_path / "crun"
    link.symlink_to(path)
    assert runtimes.find("crun", link).command == str(path)


def test_a_rooms_filter_has_every_call_of_a_guest() -> None:
    made = json.loads(runtimes.room_filter())
    assert made["defaultAction"] == "SCMP_ACT_ERRNO"
    [allowed] = [set(row["names"]) for row in made["syscalls"] if row["action"] == "SCMP_ACT_ALLOW"]
    for name in seccomp.shipped():
        assert set(seccomp.load(name).calls) <= allowed
    refused = {row["names"][0]: row["errnoRet"] for row in made["syscalls"] if row["action"] == "SCMP_ACT_ERRNO"}
    assert refused["clone3"] == 38
    assert not allowed & refused.keys()


@pytest.mark.parametrize(
    "call",
    [
        "add_key", "bpf", "clock_settime", "delete_module", "finit_module", "init_module", "io_uring_setup",
        "kexec_load", "keyctl", "open_by_handle_at", "perf_event_open", "process_vm_writev", "ptrace", "reboot",
        "request_key", "sched_rr_get_interval", "settimeofday", "swapon", "syslog", "userfaultfd",
    ],
)  # fmt: skip
def test_a_room_needs_none_of_these(call: str) -> None:
    assert call not in runtimes.room_calls()


def test_another_architecture_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "m68k")
    with pytest.raises(SandboxFault, match="m68k"):
        runtimes.room_filter.__wrapped__()
