"""What goes into a sandbox: names that are plain, bytes that are bounded, descriptors that nobody can change."""

from __future__ import annotations

import fcntl
import os

import pytest

from casemate.errors import Denied
from casemate.runtime import workspace


@pytest.mark.parametrize(
    "name", ["a", "profile.dxf", "My part-2 (1).step".replace("(1)", "1"), "_x", "9.csv", "x" * 128]
)
def test_a_plain_name_is_taken(name: str) -> None:
    workspace.check_inputs({name: b"data"}, 100)


@pytest.mark.parametrize(
    "name",
    [
        "", ".", "..", ".hidden", "-rf", " x", "a/b", "../a", "/etc/passwd", "a\\b", "a\0b", "a\nb", "a\n", "\x1b[2J",
        "é", "a:b", "a*", "$HOME", "x" * 129, "out", "a\u202eb",
    ],
)  # fmt: skip
def test_another_name_is_denied_and_shown_harmlessly(name: str) -> None:
    with pytest.raises(Denied) as caught:
        workspace.check_inputs({name: b""}, 100)
    assert not set(str(caught.value)) & {"\0", "\n", "\x1b"}


def test_no_more_bytes_than_the_profile_lets_in() -> None:
    workspace.check_inputs({"a": b"x" * 60, "b": b"x" * 40}, 100)
    with pytest.raises(Denied, match="upload_bytes"):
        workspace.check_inputs({"a": b"x" * 60, "b": b"x" * 41}, 100)


def test_no_more_than_a_hundred_inputs() -> None:
    workspace.check_inputs({f"f{i}": b"" for i in range(100)}, 1)
    with pytest.raises(Denied, match="101"):
        workspace.check_inputs({f"f{i}": b"" for i in range(101)}, 1)


def test_contents_arrive_whole_and_from_the_start() -> None:
    contents = (b"", b"source", bytes(range(256)) * 40_000)
    with workspace.sealed(*contents) as descriptors:
        assert len(descriptors) == len(contents)
        for fd, data in zip(descriptors, contents, strict=True):
            assert os.fstat(fd).st_size == len(data)
            assert os.read(fd, len(data) + 1) == data
            assert not os.get_inheritable(fd)


def test_contents_cannot_be_changed() -> None:
    with workspace.sealed(b"source") as (fd,):
        with pytest.raises(PermissionError):
            os.pwrite(fd, b"X", 0)
        with pytest.raises(PermissionError):
            os.ftruncate(fd, 0)
        with pytest.raises(PermissionError):
            os.ftruncate(fd, 100)
        with pytest.raises(PermissionError):
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, 0)
        # Nor through a new description of the same file.
        again = os.open(f"/proc/self/fd/{fd}", os.O_RDWR)
        with pytest.raises(PermissionError):
            os.write(again, b"X")
        os.close(again)
        assert os.pread(fd, 99, 0) == b"source"


def test_descriptors_are_closed_whatever_happens() -> None:
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(KeyError), workspace.sealed(b"a", b"b"):
        raise KeyError
    with pytest.raises(TypeError), workspace.sealed(b"a", "text"):  # type: ignore[arg-type]
        pass
    assert len(os.listdir("/proc/self/fd")) == before
