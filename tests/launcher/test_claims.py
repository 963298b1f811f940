"""What a keeper holds: no two hold the same, and what a dead one left is removed, and nothing else."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from harness import wait_until

from casemate.launcher import claims

FIRST = 1_900_000_000 + os.getpid() % 4096 * 8192
"""A range of uids that no other run of these tests uses."""


@pytest.fixture
def state(tmp_path: Path) -> claims.State:
    return claims.State(str(tmp_path / "state"))


def left_behind(state: claims.State, name: str, directories: list[object]) -> Path:
    """The record of a keeper that is dead: nobody holds its lock."""
    path = Path(state.path, f"keeper-{name}")
    path.write_text(json.dumps(directories))
    return path


@contextmanager
def claimed(fd: int) -> Iterator[None]:
    try:
        yield
    finally:
        os.close(fd)


def test_the_state_directory_is_private(state: claims.State) -> None:
    assert Path(state.path).stat().st_mode & 0o777 == 0o700
    claims.State(state.path)  # a second keeper finds it good


@pytest.mark.parametrize("mode", [0o770, 0o750, 0o701, 0o777, 0o1777])
def test_a_directory_that_others_can_use_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "state"
    path.mkdir()
    path.chmod(mode)
    with pytest.raises(claims.NoClaim, match="0700"):
        claims.State(str(path))


def test_a_directory_of_somebody_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "state"
    path.mkdir(mode=0o700)
    owner = path.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(claims.NoClaim):
        claims.State(str(path))


def test_a_link_to_a_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "state").symlink_to("real")
    with pytest.raises(claims.NoClaim):
        claims.State(str(tmp_path / "state"))


def test_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state").touch(0o600)
    with pytest.raises((claims.NoClaim, FileExistsError)):
        claims.State(str(tmp_path / "state"))


def test_a_dead_keepers_groups_are_removed(state: claims.State, tmp_path: Path) -> None:
    group = tmp_path / "casemate-1-2"
    (group / "room-a").mkdir(parents=True)
    (group / "box" / "exec-1").mkdir(parents=True)
    record = left_behind(state, "1-2", [str(group), str(tmp_path / "casemate-gone")])
    assert state.sweep() == ["keeper-1-2"]
    assert not group.exists()
    assert not record.exists()
    assert state.sweep() == []


def test_a_live_keepers_groups_stay(state: claims.State, tmp_path: Path) -> None:
    group = tmp_path / "casemate-1-2"
    group.mkdir()
    with claimed(state.keeper("1-2", (str(group),))):
        assert claims.State(state.path).sweep() == []
        assert group.is_dir()
        with pytest.raises(claims.NoClaim):
            claims.State(state.path).keeper("1-2", ())
    # Its lock goes with it, as when it is killed.
    assert claims.State(state.path).sweep() == ["keeper-1-2"]
    assert not group.exists()


def test_a_killed_keepers_record_is_free(state: claims.State, tmp_path: Path) -> None:
    group = tmp_path / "casemate-9-9"
    group.mkdir()
    package = Path(claims.__file__).parents[1]
    hold = (
        "import sys, types\npackage = types.ModuleType('casemate')\npackage.__path__ = [sys.argv[1]]\n"
        "sys.modules['casemate'] = package\nfrom casemate.launcher import claims\n"
        "claims.State(sys.argv[2]).keeper('9-9', (sys.argv[3],))\nprint('held', flush=True)\nsys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", hold, str(package), state.path, str(group)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as keeper:  # fmt: skip
        assert keeper.stdout is not None
        assert keeper.stdout.readline() == b"held\n"
        assert state.sweep() == []
        keeper.send_signal(signal.SIGKILL)
        keeper.wait(10)
    assert state.sweep() == ["keeper-9-9"]
    assert not group.exists()


@pytest.mark.parametrize("name", ["precious", "not-casemate-1", "casemate", ".casemate-1-2"])
def test_a_record_that_names_another_directory_harms_nothing(
    state: claims.State, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    # Only this test's own directories are named and no signal is sent: without the check, nothing else is harmed.
    killed: list[int] = []
    monkeypatch.setattr(os, "kill", lambda pid, _: killed.append(pid))
    other = tmp_path / "top" / name
    (other / "inner").mkdir(parents=True)
    (other / "cgroup.procs").write_text("4194305\n")  # above any pid (proc_sys_kernel(5), pid_max)
    left_behind(state, "1-2", [str(other), f"{tmp_path}/top/casemate-1/../{name}", f"{other}/casemate-1/..", ""])
    state.sweep()
    assert killed == []
    assert (other / "inner").is_dir()
    assert (other / "cgroup.procs").exists()


@pytest.mark.parametrize("text", ["", "[", '["/x/casemate-1', "{}", '{"a": 1}', "[1, null, [], {}]", "7", "\x00\xff"])
def test_a_damaged_record_stops_no_keeper(state: claims.State, text: str) -> None:
    record = Path(state.path, "keeper-1-2")
    record.write_text(text)
    state.sweep()
    assert not record.exists()


def test_what_is_still_busy_stays_for_the_next_sweep(state: claims.State, tmp_path: Path) -> None:
    group = tmp_path / "casemate-1-2"
    group.mkdir()
    (group / "holds-it").touch()
    record = left_behind(state, "1-2", [str(group)])
    assert state.sweep() == []
    assert record.exists()
    (group / "holds-it").unlink()
    assert state.sweep() == ["keeper-1-2"]


def test_what_runs_in_a_dead_keepers_group_is_killed(state: claims.State, tmp_path: Path) -> None:
    group = tmp_path / "casemate-1-2"
    (group / "exec-1").mkdir(parents=True)
    sleeper = subprocess.Popen(["sleep", "600"])
    # A process that is gone before it can be killed (no pid is that high) does not save the others.
    (group / "exec-1" / "cgroup.procs").write_text(f"4194305\n{sleeper.pid}\n")
    left_behind(state, "1-2", [str(group)])
    try:
        state.sweep()
        assert wait_until(lambda: sleeper.poll() == -signal.SIGKILL, 10)
    finally:
        sleeper.kill()
        sleeper.wait()


def test_other_files_are_not_swept(state: claims.State) -> None:
    for name in ("uids-5", "notes", "xkeeper-1"):
        Path(state.path, name).write_text('["/tmp/casemate-x"]')
    assert state.sweep() == []
    assert sorted(os.listdir(state.path)) == ["notes", "uids-5", "xkeeper-1"]


def test_a_lock_is_not_taken_through_a_link(state: claims.State, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("mine")
    Path(state.path, "keeper-1-2").symlink_to(target)
    with pytest.raises(OSError, match="symbolic links"):
        state.keeper("1-2", ())
    assert target.read_text() == "mine"


def test_a_sweep_in_the_middle_of_a_claim_does_not_deny_it(
    state: claims.State, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, other, swept = fcntl.flock, claims.State(state.path), []

    def flock(fd: int, operation: int) -> None:
        if not swept:
            swept.append("now")
            swept.extend(other.sweep())  # another keeper starts between our open and our lock
        real(fd, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    with claimed(state.keeper("1-2", ("/x/casemate-1-2",))):
        assert swept == ["now", "keeper-1-2"]
        assert json.loads(Path(state.path, "keeper-1-2").read_text()) == ["/x/casemate-1-2"]
        assert other.sweep() == []


def test_a_released_record_is_gone(state: claims.State) -> None:
    with claimed(state.keeper("1-2", ())):
        state.release_keeper("1-2")
        state.release_keeper("1-2")
        assert not Path(state.path, "keeper-1-2").exists()


def test_uid_blocks_do_not_overlap(state: claims.State) -> None:
    others = [claims.State(state.path) for _ in range(3)]
    blocks = [other.uids(FIRST, 3 * claims.BLOCK) for other in others]
    uids = [uid for first, count in blocks for uid in range(first, first + count)]
    assert len(set(uids)) == len(uids) == 3 * claims.BLOCK
    assert min(uids) >= FIRST
    assert max(uids) < FIRST + 3 * claims.BLOCK
    with pytest.raises(claims.NoClaim, match="uids"):
        state.uids(FIRST, 3 * claims.BLOCK)


def test_a_range_smaller_than_a_block_gives_nothing(state: claims.State) -> None:
    with pytest.raises(claims.NoClaim):
        state.uids(FIRST, claims.BLOCK - 1)


def test_a_block_with_a_uid_in_use_is_not_given(state: claims.State) -> None:
    mine = os.geteuid()
    first, count = state.uids(mine, 2 * claims.BLOCK)
    assert not first <= mine < first + count
