"""What a plain program left is taken as a tree: regular files with plain names, within bounds; the rest is told."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from casemate.runtime import artifacts
from casemate.runtime.artifacts import Collector, OverLimit, tree


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
def whole(directory: int) -> Collector:
    """Bounds that no test reaches by accident."""
    return Collector(directory, count=100, each=1 << 20, total=4 << 20)


def test_a_tree_is_taken_by_its_paths(job: Path, directory: int, whole: Collector) -> None:
    (job / "out/a/b").mkdir(parents=True)
    wanted = {"a/b/c": b"1", "a/z.txt": b"2", "größe (1).csv": "ß".encode(), "empty": b""}
    for name, data in wanted.items():
        (job / "out" / name).write_bytes(data)
    files, left = tree(whole, directory, "out")
    assert ({name: artifact.data for name, artifact in files.items()}, left) == (wanted, ())
    assert all(artifact.name == name for name, artifact in files.items())


def test_nothing_left_is_nothing(job: Path, directory: int, whole: Collector) -> None:
    assert tree(whole, directory, "out") == ({}, ())
    (job / "out").rmdir()
    assert tree(whole, directory, "out") == ({}, ())


def link(path: Path) -> None:
    path.symlink_to("../../secret")


def link_inside(path: Path) -> None:
    (path.parent / "real").write_text("fine")
    path.symlink_to("real")


def magic_link(path: Path) -> None:
    path.symlink_to("/proc/self/fd/0")


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def directory_link(path: Path) -> None:
    path.symlink_to("../..")


def unix_socket(path: Path) -> None:
    with contextlib.chdir(path.parent), contextlib.closing(socket.socket(socket.AF_UNIX)) as made:
        made.bind(path.name)


def two_names(path: Path) -> None:
    path.write_text("x")
    os.link(path, path.parent.parent / "another")


@pytest.mark.parametrize(
    "make",
    [link, link_inside, magic_link, directory_link, os.mkfifo, unix_socket, two_names],
    ids=lambda make: make.__name__,
)
def test_what_is_no_file_of_its_own_is_left_and_told(
    make: Callable[[Path], object], job: Path, directory: int, whole: Collector
) -> None:
    (job / "out/good").write_text("good")
    make(job / "out/bad")
    before = descriptors()
    files, left = tree(whole, directory, "out")
    assert set(files) == {"good"} | ({"real"} if make is link_inside else set())
    assert len(left) == 1
    assert "bad" in left[0]
    assert descriptors() == before


@pytest.mark.parametrize("make", [directory_link, link_inside, os.mkfifo, Path.touch], ids=lambda make: make.__name__)
def test_a_place_that_is_no_directory_gives_nothing(
    make: Callable[[Path], object], job: Path, directory: int, whole: Collector
) -> None:
    (job / "out").rmdir()
    make(job / "out")
    files, left = tree(whole, directory, "out")
    assert (files, len(left)) == ({}, 1)


NAMES = (
    "-rf", ".bashrc", "~x", " x", "x ", "x.", "*", "$(id)", "`id`", "a;id", "'", '"', "a|b", "%2e%2e%2fx", "a\nb",
    "a\tb", "\x1b[2J", "part\u202epets.exe", "e\u0301", "a\u200bb", "a\\b", "a:b", "<b>", "....", "\udcff", "\x7f",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_a_name_that_could_do_harm_is_left_and_told_inertly(
    name: str, job: Path, directory: int, whole: Collector
) -> None:
    (job / "out" / name).write_text("x")
    (job / "out/plain").write_text("y")
    files, left = tree(whole, directory, "out")
    assert set(files) == {"plain"}
    assert len(left) == 1
    assert left[0].isprintable()
    assert left[0].isascii()
    (job / "out" / name).unlink()
    (job / "out" / name).mkdir()
    (job / "out" / name / "inner").write_text("x")
    files, left = tree(Collector(directory, count=9, each=9, total=9), directory, "out")
    assert (set(files), len(left)) == ({"plain"}, 1)


def test_two_names_that_look_alike_are_one_too_many(job: Path, directory: int, whole: Collector) -> None:
    for name in ("File", "file", "ﬁle"):
        (job / "out" / name).write_text(name)
    files, left = tree(whole, directory, "out")
    assert (set(files), len(left)) == ({"File"}, 2)


def test_a_tree_has_a_bottom(job: Path, directory: int, whole: Collector) -> None:
    (job / "out" / "/".join("abcdefghijklmnop")).mkdir(parents=True)
    (job / "out" / "/".join("abcdefghijklmno") / "file").touch()
    (job / "out" / "/".join("abcdefghijklmnop") / "file").touch()
    files, left = tree(whole, directory, "out")
    assert list(files) == ["a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/file"]
    assert len(left) == 1


def test_a_path_has_an_end(job: Path, directory: int, whole: Collector) -> None:
    place = job / "out" / "ß" / ("d" * 255) / ("e" * 255) / ("f" * 255)  # 2 + 3 × 255 bytes, and a slash after each
    place.mkdir(parents=True)
    (place / ("g" * 253)).touch()
    (place / ("h" * 254)).touch()
    files, left = tree(whole, directory, "out")
    assert [(len(name.encode()), name[-1]) for name in files] == [(1024, "g")]
    assert len(left) == 1
    assert left[0].endswith("a path of more than 1024 bytes")


def test_many_things_that_are_left_are_counted(job: Path, directory: int, whole: Collector) -> None:
    for n in range(60):
        (job / "out" / f"l{n}").symlink_to("x")
    files, left = tree(whole, directory, "out")
    assert (files, len(left), left[-1]) == ({}, 51, "10 more were left")


def test_the_bounds_hold_for_a_tree(job: Path, directory: int) -> None:
    for n in range(4):
        with (job / "out" / str(n)).open("wb") as file:
            file.truncate(1000)  # sparse: its apparent size counts
    for bounds, limit in (((3, 9999, 9999), "artifact_count"), ((9, 999, 9999), "artifact_bytes"),
                          ((9, 1000, 3999), "artifact_total_bytes")):  # fmt: skip
        count, each, total = bounds
        with pytest.raises(OverLimit) as caught:
            tree(Collector(directory, count=count, each=each, total=total), directory, "out")
        assert caught.value.limit == limit
    assert len(tree(Collector(directory, count=4, each=1000, total=4000), directory, "out")[0]) == 4


def test_names_without_end_are_a_limit(
    job: Path, directory: int, whole: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(artifacts, "_ENTRIES", 100)
    for n in range(101):
        (job / "out" / f"d{n}").mkdir()
    with pytest.raises(OverLimit) as caught:
        tree(whole, directory, "out")
    assert caught.value.limit == "artifact_count"
