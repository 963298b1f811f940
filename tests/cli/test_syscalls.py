"""`casemate syscalls`: a set as it is written, and a trace of real jobs in real sandboxes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from cli.command import casemate, document, inside

WRITES = "import os\nos.symlink('made', 'made')\nprint(sum(range(10)))\nraise SystemExit(0)\n"
strace = shutil.which("strace", path="/usr/bin:/bin")


@pytest.mark.parametrize("name", ["cad", "python", "strict"])
def test_a_set_is_shown_with_its_reasons(name: str, whole: dict[str, Any]) -> None:
    found = document(inside("syscalls", "show", name, "--json"), "SyscallSetDocument", whole, 0)
    assert found["name"] == name
    assert sum(len(group["calls"]) for group in found["groups"]) == found["calls"]
    text = inside("syscalls", "show", name)
    assert text.returncode == 0
    assert f"{name}: {found['calls']} calls" in text.stdout
    for group in found["groups"]:
        assert group["why"] in text.stdout
        assert " ".join(group["calls"]) in text.stdout


def test_an_unknown_set_is_a_usage_error() -> None:
    assert inside("syscalls", "show", "none").returncode == 2
    assert inside("syscalls", "trace", "strict").returncode == 2


def test_a_trace_says_what_the_set_lacks(tmp_path: Path, profile: str, whole: dict[str, Any]) -> None:
    job, record = tmp_path / "writes.py", tmp_path / "record.json"
    job.write_text(WRITES)
    done = casemate("syscalls", "trace", "strict", job, "--profile", profile, "--record", record, "--json")
    if strace is None:
        found = document(done, "ErrorDocument", whole, 4)
        assert "strace" in found["message"]
        return
    found = document(done, "TraceDocument", whole, 1)
    assert found["lacks"] == ["symlink"]
    assert [*found["jobs"].values()] == ["exited 0 no_result"]
    assert found["calls"]["symlink"] == [f"{tmp_path.name}/writes.py"]
    assert {"recvmsg", "read", "write", "exit_group"} <= set(found["calls"])
    # What builds the walls does these; the guest, once it is locked down, none of them.
    assert not {"mount", "unshare", "setns", "seccomp", "capset", "setresuid", "clone"} & set(found["calls"])
    assert json.loads(record.read_text()) == found


def test_a_trace_of_nothing_is_refused(tmp_path: Path) -> None:
    assert inside("syscalls", "trace", "strict", tmp_path).returncode == 3
