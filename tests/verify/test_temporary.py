"""What a killed run has left is taken away by the next; what a living one holds is not."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from casemate.verify import temporary

HOLD = """
import sys
from pathlib import Path
from casemate.verify import temporary
with temporary.directory(Path(sys.argv[1]), 0o700) as made:
    (made / "file").write_text("x")
    print(made, flush=True)
    sys.stdin.read()
"""


def held(parent: Path) -> tuple[subprocess.Popen[str], Path]:
    """A process that holds one, and which."""
    command = [sys.executable, "-c", HOLD, str(parent)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_it_goes_with_its_maker(tmp_path: Path) -> None:
    with temporary.directory(tmp_path, 0o711) as made:
        assert made.stat().st_mode & 0o777 == 0o711
        (made / "file").write_text("x")
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_one_left_is_taken_away_and_what_a_living_one_holds_is_not(tmp_path: Path) -> None:
    killed, first = held(tmp_path)
    living, second = held(tmp_path)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert (first / "file").exists()
    with temporary.directory(tmp_path, 0o700) as third:
        assert set(tmp_path.iterdir()) == {second, third}
        assert (second / "file").exists()
    living.communicate("")
    assert list(tmp_path.iterdir()) == []


def test_twin_without_the_lock_a_living_ones_is_taken_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    living, first = held(tmp_path)
    monkeypatch.setattr(temporary.fcntl, "flock", lambda *_: None)
    with temporary.directory(tmp_path, 0o700):
        assert not first.exists()
    living.communicate("")


@pytest.mark.parametrize("when", ["before it is opened", "while another holds it", "before it is locked"])
def test_one_that_is_taken_away_before_it_is_locked_is_made_again(
    when: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first: list[Path] = []
    lock = fcntl.flock

    def taken(path: Path, *_: object, **__: object) -> int:
        if not first:
            first.append(path)
            path.rmdir()
            if when == "while another holds it":
                raise BlockingIOError
        return 0

    if when == "before it is opened":
        monkeypatch.setattr(temporary, "_locked", lambda path, real=temporary._locked: taken(path) or real(path))
    else:
        monkeypatch.setattr(
            temporary.fcntl, "flock", lambda fd, how: taken(Path(os.readlink(f"/proc/self/fd/{fd}"))) or lock(fd, how)
        )
    before = len(os.listdir("/proc/self/fd"))
    with temporary.directory(tmp_path, 0o700) as made:
        assert list(tmp_path.iterdir()) == [made]
        assert first
        assert made not in first
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_link_of_that_name_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").write_text("x")
    (tmp_path / f"{temporary.PREFIX}link").symlink_to(tmp_path / "kept")
    (tmp_path / f"{temporary.PREFIX}file").write_text("x")
    with temporary.directory(tmp_path, 0o700):
        assert (tmp_path / "kept" / "file").exists()
        assert (tmp_path / f"{temporary.PREFIX}file").exists()
