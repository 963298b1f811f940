"""Each installed peer runs once really, behind the walls that the comparison claims; one that cannot is a note."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from harness import PROGRAMS, wait_until

from casemate.bench import commands, peers
from casemate.errors import SandboxFault
from casemate.launcher import cgroups

NAMES = ("bubblewrap", "nsjail", "crun", "runc", "podman")
KINDS = ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup")
CANARY = "CASEMATE_CANARY"

PROBE = f"""
import errno, json, os, sys

def tried(directory):
    try:
        os.close(os.open(directory + "/casemate-probe", os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except OSError as error:
        return errno.errorcode[error.errno]
    return "written"

status = dict(line.rstrip("\\n").split(":\\t", 1) for line in open("/proc/self/status") if ":\\t" in line)
print(json.dumps({{
    "namespaces": {{kind: os.readlink("/proc/self/ns/" + kind) for kind in {KINDS!r}}},
    "interfaces": [line.split(":")[0].strip() for line in open("/proc/net/dev") if ":" in line],
    "written": [tried(directory) for directory in sys.argv[1:]],
    "processes": sorted(int(name) for name in os.listdir("/proc") if name.isdigit()),
    "capabilities": [status[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")],
    "no_new_privs": status["NoNewPrivs"],
    "environment": sorted(os.environ),
}}))
"""
MANY = """
import threading
wait, started = threading.Event(), 0
try:
    for _ in range(120):
        threading.Thread(target=wait.wait, daemon=True).start()
        started += 1
except RuntimeError:
    pass
wait.set()
print(started)
"""
MUCH = "print(len(bytearray(b'x') * (400 << 20)))"


@pytest.fixture(scope="module")
def found() -> Iterator[tuple[dict[str, peers.Ready], list[str]]]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv(CANARY, "1")
        stage = peers.Stage()
        able, notes = peers.ready(stage, peers.peers())
        yield {one.peer.name: one for one in able}, notes
        stage.close()


def bare(*arguments: str) -> str:
    """What the interpreter prints without any peer around it."""
    return subprocess.run(commands.interpreter(arguments), check=True, capture_output=True, text=True).stdout


def notes_on(name: str, notes: list[str]) -> list[str]:
    return [note for note in notes if note.startswith((f"{name}:", f"{name} "))]


def test_all_five_are_listed() -> None:
    assert tuple(peer.name for peer in peers.peers()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_an_installed_peer_has_the_walls(name: str, found: tuple[dict[str, peers.Ready], list[str]]) -> None:
    able, notes = found
    if name not in able:  # then somebody is told why
        assert len(notes_on(name, notes)) == 1
        return
    ran = able[name].start(("-c", PROBE, "/", "/usr", sys.prefix))
    assert ran.status == 0, ran.stderr
    seen: dict[str, Any] = json.loads(ran.stdout)
    for kind in KINDS:
        assert seen["namespaces"][kind] != os.readlink(f"/proc/self/ns/{kind}"), kind
    assert seen["interfaces"] == ["lo"]
    assert seen["written"] == ["EROFS", "EROFS", "EROFS"]
    assert max(seen["processes"]) <= 2
    assert set(seen["capabilities"]) == {"0000000000000000"}
    assert seen["no_new_privs"] == "1"
    assert CANARY not in seen["environment"]
    assert set(seen["environment"]) <= {"PATH", "LC_CTYPE", "PWD", "HOME", "HOSTNAME", "TERM", "container"}


def test_the_probe_sees_it_where_there_are_no_walls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CANARY, "1")
    seen: dict[str, Any] = json.loads(bare("-c", PROBE, str(tmp_path)))
    assert seen["namespaces"] == {kind: os.readlink(f"/proc/self/ns/{kind}") for kind in KINDS}
    assert seen["written"] == ["written"]
    assert os.getpid() in seen["processes"]
    assert seen["no_new_privs"] == "0"
    assert CANARY in seen["environment"]


@pytest.mark.parametrize("name", NAMES)
def test_bounds_hold_exactly_where_no_note_denies_them(
    name: str, found: tuple[dict[str, peers.Ready], list[str]]
) -> None:
    able, notes = found
    denied = bool(notes_on(name, notes))
    if name not in able:
        assert denied
        return
    many, much = able[name].start(("-c", MANY)), able[name].start(("-c", MUCH))
    assert many.status == 0, many.stderr
    assert (int(many.stdout) == 120) is denied
    assert (much.status == 0) is denied


def test_nothing_but_the_peers_bounds_the_hogs() -> None:
    assert bare("-c", MANY).strip() == "120"
    assert bare("-c", MUCH).strip() == str(400 << 20)


def test_a_contender_gives_the_seconds_of_one_run() -> None:
    runs, notes = peers.contenders()
    for name in NAMES:
        assert name in runs or notes_on(name, notes)
    for run in runs.values():
        began = time.perf_counter()
        took = run()
        assert isinstance(took, float)
        assert 0 < took <= time.perf_counter() - began


def test_a_peer_that_is_not_on_the_path_is_a_note(tmp_path: Path) -> None:
    assert [bool(peer.reason) for peer in peers.peers(str(tmp_path))] == [True] * 5
    runs, notes = peers.contenders(str(tmp_path))
    assert runs == {}
    assert [note.split(":")[0] for note in notes] == list(NAMES)
    assert all("not installed" in note for note in notes)


def tool(directory: Path, command: str, text: str) -> None:
    (directory / command).write_text(f"#!/bin/sh\n{text}\n", "utf-8")
    (directory / command).chmod(0o755)


def test_a_peer_that_fails_here_is_a_note_with_its_own_words(tmp_path: Path) -> None:
    tool(tmp_path, "runc", "echo first >&2; echo no such luck >&2; exit 1")
    runs, notes = peers.contenders(str(tmp_path))
    assert runs == {}
    assert [note for note in notes if "no such luck" in note] == notes_on("runc", notes)
    assert "cannot run here" in notes_on("runc", notes)[0]


def test_a_run_that_fails_later_raises(tmp_path: Path) -> None:
    tool(tmp_path, "bwrap", f"[ -e {tmp_path}/broken ] || exit 0; echo out of luck >&2; exit 1")
    runs, _ = peers.contenders(str(tmp_path))
    runs["bubblewrap"]()
    (tmp_path / "broken").touch()
    with pytest.raises(SandboxFault, match="out of luck"):
        runs["bubblewrap"]()


def groups(name: str) -> list[Path]:
    return [Path(found) / name for found, below, _ in os.walk("/sys/fs/cgroup") if name in below]


def test_the_stage_leaves_nothing() -> None:
    stage = peers.Stage()
    peers.ready(stage, peers.peers())
    group, path, files = stage.group, stage.path, stage.files
    assert path.is_dir()
    assert files.is_dir()
    assert list(path.iterdir()) == []  # mounted for the stage alone
    assert str(path) not in Path("/proc/self/mountinfo").read_text("utf-8")
    if not cgroups.survey().missing:
        assert groups(group)
    del stage
    gc.collect()
    assert not path.exists()
    assert not files.exists()
    assert groups(group) == []


def test_the_stage_ends_with_a_caller_that_is_killed() -> None:
    caller = subprocess.Popen(
        [sys.executable, str(PROGRAMS / "hold_stage.py")],
        env={"PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert caller.stdout is not None
        path, group = caller.stdout.readline().split()
        assert Path(path).is_dir()
    finally:
        caller.send_signal(signal.SIGKILL)
        caller.communicate()
    assert wait_until(lambda: not Path(path).exists(), 10.0)
    assert groups(group) == []
