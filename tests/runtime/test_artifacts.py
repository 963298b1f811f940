"""Files leave a stopped sandbox by descriptor; whatever else the guest put in their place is refused."""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from launcher.forked import forked

from casemate.launcher import syscalls
from casemate.runtime.artifacts import Collector, OverLimit, Refused


@pytest.fixture
def job(tmp_path: Path) -> Path:
    (tmp_path / "job" / "out").mkdir(parents=True)
    (tmp_path / "secret").write_text("the host's")
    return tmp_path / "job"


@pytest.fixture
def directory(job: Path) -> Iterator[int]:
    fd = os.open(job, os.O_RDONLY | os.O_DIRECTORY)
    yield fd
    os.close(fd)


@pytest.fixture
def collector(directory: int) -> Collector:
    return Collector(directory, count=3, each=1000, total=2000)


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize("data", [b"", b"ISO-10303-21;", os.urandom(1000)])
def test_a_regular_file_is_taken(job: Path, collector: Collector, data: bytes) -> None:
    (job / "out" / "part.step").write_bytes(data)
    artifact = collector.take("out/part.step", "part.step")
    assert (artifact.name, artifact.data, artifact.size) == ("part.step", data, len(data))
    assert artifact.sha256 == hashlib.sha256(data).hexdigest()


def test_a_file_bigger_than_one_read_is_taken_whole(job: Path, directory: int) -> None:
    data = os.urandom(3_500_001)
    (job / "big").write_bytes(data)
    taken = Collector(directory, count=1, each=len(data), total=len(data)).take("big", "big")
    assert taken.data == data


def link(path: Path) -> None:
    path.symlink_to("../../secret")


def absolute_link(path: Path) -> None:
    path.symlink_to("/etc/passwd")


def link_inside(path: Path) -> None:
    (path.parent / "real").write_text("fine")
    path.symlink_to("real")


def magic_link(path: Path) -> None:
    path.symlink_to("/proc/self/fd/0")


def dangling(path: Path) -> None:
    path.symlink_to("nothing")


def hard_link(path: Path) -> None:
    path.hardlink_to(path.parents[2] / "secret")


def two_names(path: Path) -> None:
    path.write_text("x")
    (path.parent / "again").hardlink_to(path)


def unix_socket(path: Path) -> None:
    with contextlib.chdir(path.parent), socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path.name)


def directory_with_files(path: Path) -> None:
    path.mkdir()
    (path / "inner").write_text("x")


@pytest.mark.parametrize(
    "make",
    [link, absolute_link, link_inside, magic_link, dangling, hard_link, two_names, os.mkfifo, unix_socket,
     directory_with_files, lambda path: None],
    ids=["link out", "absolute link", "link inside", "magic link", "dangling link", "hard link", "two names", "FIFO",
         "socket", "directory", "nothing"],
)  # fmt: skip
def test_anything_else_is_refused_at_once(job: Path, collector: Collector, make: Callable[[Path], object]) -> None:
    make(job / "out" / "x.step")
    before = descriptors()
    with pytest.raises(Refused, match=r"x\.step") as caught:
        collector.take("out/x.step", "x.step")
    assert not isinstance(caught.value, OverLimit)
    assert descriptors() == before


def test_a_fifo_with_a_writer_is_refused_too(job: Path, collector: Collector) -> None:
    os.mkfifo(job / "pipe")
    both = os.open(job / "pipe", os.O_RDWR)
    os.write(both, b"looks like data")
    with pytest.raises(Refused, match="not a regular file"):
        collector.take("pipe", "pipe")
    os.close(both)


def test_a_device_is_refused(collector: Collector) -> None:
    devices = os.open("/dev", os.O_RDONLY | os.O_DIRECTORY)
    with pytest.raises(Refused, match="not a regular file"):
        Collector(devices, count=1, each=1000, total=1000).take("zero", "zero")
    os.close(devices)


def test_a_directory_that_is_a_link_is_refused(job: Path, collector: Collector) -> None:
    (job / "out").rename(job / "real")
    (job / "real" / "inner").write_text("x")
    for leads_to, name in (("..", "secret"), ("real", "inner")):
        (job / "out").symlink_to(leads_to)
        with pytest.raises(Refused):
            collector.take(f"out/{name}", name)
        (job / "out").unlink()
    assert collector.take("real/inner", "inner").data == b"x"


def test_what_is_mounted_there_is_refused(job: Path) -> None:
    (job.parent / "elsewhere").mkdir()
    (job.parent / "elsewhere" / "x").write_text("the host's")

    def body() -> str:
        user = 0 if os.geteuid() == 0 else syscalls.CLONE_NEWUSER
        syscalls.unshare(user | syscalls.CLONE_NEWNS)
        syscalls.mount("none", "/", None, syscalls.MS_REC | syscalls.MS_PRIVATE)
        syscalls.mount(str(job.parent / "elsewhere"), str(job / "out"), None, syscalls.MS_BIND)
        fd = os.open(job, os.O_RDONLY | os.O_DIRECTORY)
        assert (job / "out" / "x").exists()
        with pytest.raises(Refused) as caught:
            Collector(fd, count=1, each=1000, total=1000).take("out/x", "x")
        return str(caught.value)

    assert "cross-device" in forked(body)


@pytest.mark.parametrize("path", ["../secret", "out/../../secret", "/etc/passwd", "", ".", "out/a\0b", "out"])
def test_a_path_that_leads_elsewhere_is_refused(job: Path, collector: Collector, path: str) -> None:
    (job / "out" / "a").write_text("x")
    with pytest.raises(Refused):
        collector.take(path, "name")


def test_an_unreadable_file_is_refused(job: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    (job / "x").write_text("x")
    (job / "x").chmod(0)
    if os.geteuid() == 0:  # whom no mode stops

        def denied(*_: object) -> int:
            raise PermissionError(13, "openat2: Permission denied")

        monkeypatch.setattr(syscalls, "openat2", denied)
    with pytest.raises(Refused, match="ermission"):
        collector.take("x", "x")


def test_a_sparse_file_counts_with_its_size(job: Path, collector: Collector) -> None:
    with (job / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(OverLimit) as caught:
        collector.take("sparse", "sparse")
    assert caught.value.limit == "artifact_bytes"
    with (job / "small").open("wb") as file:
        file.truncate(500)
    assert collector.take("small", "small").data == bytes(500)


@pytest.mark.parametrize(("grown", "kept"), [(b"more", b"0123456789"), (b"", b"0123456789")])
def test_a_file_that_grows_is_cut_at_the_size_that_was_judged(
    job: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch, grown: bytes, kept: bytes
) -> None:
    (job / "x").write_bytes(kept)
    real = os.read

    def read(fd: int, size: int) -> bytes:
        with (job / "x").open("ab") as file:
            file.write(grown * 1000)
        return real(fd, size)

    monkeypatch.setattr(os, "read", read)
    assert collector.take("x", "x").data == kept


def test_a_file_that_shrinks_is_refused(job: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    (job / "x").write_bytes(b"0123456789")
    real = os.read

    def read(fd: int, size: int) -> bytes:
        os.truncate(job / "x", 4)
        return real(fd, size)

    monkeypatch.setattr(os, "read", read)
    with pytest.raises(Refused, match="6 bytes early"):
        collector.take("x", "x")


def test_each_limit_has_its_name(job: Path, directory: int) -> None:
    (job / "small").write_bytes(b"x" * 100)
    (job / "large").write_bytes(b"x" * 101)
    collector = Collector(directory, count=3, each=100, total=200)
    with pytest.raises(OverLimit) as caught:
        collector.take("large", "large")
    assert caught.value.limit == "artifact_bytes"
    collector.take("small", "a")  # what was refused has used nothing up
    collector.take("small", "b")
    with pytest.raises(OverLimit) as caught:
        collector.take("small", "c")
    assert caught.value.limit == "artifact_total_bytes"


def test_no_more_files_than_allowed(job: Path, directory: int) -> None:
    (job / "x").write_bytes(b"")
    collector = Collector(directory, count=2, each=100, total=100)
    collector.take("x", "a")
    collector.take("x", "b")
    with pytest.raises(OverLimit) as caught:
        collector.take("x", "c")
    assert caught.value.limit == "artifact_count"
    with pytest.raises(OverLimit):
        Collector(directory, count=0, each=100, total=100).take("x", "x")


def test_names_that_were_not_asked_for_stay(job: Path, collector: Collector) -> None:
    for name in ("a", "b"):
        (job / "out" / name).write_text(name)
    assert collector.take("out/a", "a").data == b"a"
    assert sorted(path.name for path in (job / "out").iterdir()) == ["a", "b"]
