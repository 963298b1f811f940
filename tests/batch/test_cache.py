"""Kept results: what is believed, what is kept, and whose they are."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import shutil
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from batch.standin import artifact, part, result

from casemate import Denied, Limit, Outcome, Reason, Stage, Verdict
from casemate.batch import Cache, results
from casemate.batch.cache import Entry
from casemate.batch.keys import Terms

KEY, OTHER = "ab" * 32, "cd" * 32
DATA = b"ISO-10303-21;" * 100


def filled(directory: Path) -> tuple[Cache, Entry]:
    cache, made = Cache(directory), part(DATA)
    entry = Entry(results.kept(made), results.usage(made.usage))
    cache.put(KEY, entry, made.artifacts.values())
    return cache, entry


def entry_file(directory: Path) -> Path:
    return directory / "results" / KEY[:2] / KEY


def test_what_was_kept_is_there_again(tmp_path: Path) -> None:
    cache, entry = filled(tmp_path / "cache")
    assert cache.get(KEY) == entry
    [file] = entry.result["artifacts"].values()
    assert file == {"size": len(DATA), "sha256": hashlib.sha256(DATA).hexdigest(), "path": f"artifacts/{artifact(DATA).sha256}.step"}  # fmt: skip # noqa: E501
    assert cache.file(file["sha256"], file["size"]) == DATA
    assert Cache(tmp_path / "cache").get(KEY) == entry
    assert cache.get(OTHER) is None
    assert list((tmp_path / "cache" / "new").iterdir()) == []


def resealed(path: Path, change: Callable[[dict[str, object]], object]) -> None:
    """Another content with the right digest: what a program that was wrong, not damage, would leave."""
    whole = json.loads(path.read_bytes()[65:])
    change(whole)
    body = json.dumps(whole).encode() + b"\n"
    path.write_bytes(hashlib.sha256(body).hexdigest().encode() + b"\n" + body)


def swap(path: Path, with_what: Callable[[Path], object]) -> None:
    path.unlink()
    with_what(path)


TAMPERED: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "cut": lambda path: os.truncate(path, path.stat().st_size // 2),
    "cut_by_one": lambda path: os.truncate(path, path.stat().st_size - 1),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"\n"),
    "sparse": lambda path: os.truncate(path, 1 << 40),
    "flipped": lambda path: path.write_bytes(path.read_bytes().replace(b'"exit_code":0', b'"exit_code":1')),
    "digest": lambda path: path.write_bytes(b"0" * 64 + path.read_bytes()[64:]),
    "another_key": lambda path: resealed(path, lambda whole: whole.update(key=OTHER)),
    "no_result": lambda path: resealed(path, lambda whole: whole.update(result=None)),
    "wrong_type": lambda path: resealed(path, lambda whole: whole["result"].update(outcome="well")),  # type: ignore[attr-defined]
    "no_number": lambda path: resealed(path, lambda whole: whole["usage"].update(wall=float("nan"))),  # type: ignore[attr-defined]
    "elsewhere": lambda path: resealed(
        path, lambda whole: whole["result"]["artifacts"]["part.step"].update(path="artifacts/../../x")  # type: ignore[index]
    ),
    "extra": lambda path: resealed(path, lambda whole: whole.update(more=1)),
    "link": lambda path: (shutil.copy(path, path.with_suffix(".x")), swap(path, lambda p: p.symlink_to(f"{p}.x"))),
    "fifo": lambda path: swap(path, os.mkfifo),
    "directory": lambda path: swap(path, Path.mkdir),
    "gone": lambda path: path.unlink(),
}  # fmt: skip


@pytest.mark.parametrize("how", TAMPERED)
def test_what_was_tampered_with_is_not_believed(tmp_path: Path, how: str) -> None:
    cache, _ = filled(tmp_path / "cache")
    TAMPERED[how](entry_file(tmp_path / "cache"))
    assert cache.get(KEY) is None


def test_the_twin_of_the_resealed_ones_is_believed(tmp_path: Path) -> None:
    cache, entry = filled(tmp_path / "cache")
    resealed(entry_file(tmp_path / "cache"), lambda whole: None)
    assert cache.get(KEY) == entry


@pytest.mark.parametrize("data", [b"", DATA[:-1], DATA + b"x", b"x" + DATA[1:]])
def test_a_file_that_was_tampered_with_is_not_given(tmp_path: Path, data: bytes) -> None:
    cache, _ = filled(tmp_path / "cache")
    sha256 = artifact(DATA).sha256
    (tmp_path / "cache" / "files" / sha256[:2] / sha256).write_bytes(data)
    assert cache.file(sha256, len(DATA)) is None


def test_it_is_the_users_alone(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        filled(tmp_path / "deep" / "cache")
    finally:
        os.umask(old)
    for path in (tmp_path / "deep" / "cache", *(tmp_path / "deep" / "cache").rglob("*")):
        assert path.stat().st_mode & 0o077 == 0, path


@pytest.mark.parametrize("mode", [0o777, 0o750, 0o705, 0o701])
def test_one_that_others_may_enter_is_refused(tmp_path: Path, mode: int) -> None:
    filled(tmp_path / "cache")
    (tmp_path / "cache").chmod(mode)
    with pytest.raises(Denied, match="chmod 700"):
        Cache(tmp_path / "cache")
    (tmp_path / "cache").chmod(0o700)
    assert Cache(tmp_path / "cache").get(KEY) is not None


def test_what_cannot_be_kept_is_told_and_ends_nothing(tmp_path: Path) -> None:
    cache, entry = filled(tmp_path / "cache")
    (tmp_path / "cache" / "results" / OTHER[:2]).write_text("in the way")
    cache.put(OTHER, entry, ())
    assert OTHER[:2] in cache.fault


def test_many_write_and_read_one_key_at_once(tmp_path: Path) -> None:
    """A reader sees nothing or the whole: entries are renamed into place."""
    made = part(DATA)
    entry = Entry(results.kept(made), results.usage(made.usage))
    caches = [Cache(tmp_path / "cache") for _ in range(4)]
    broken: list[object] = []

    def work(cache: Cache) -> None:
        for _ in range(50):
            cache.put(KEY, entry, made.artifacts.values())
            if cache.get(KEY) != entry or cache.file(artifact(DATA).sha256, len(DATA)) != DATA:
                broken.append(cache)

    threads = [threading.Thread(target=work, args=(cache,)) for cache in caches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (broken, [cache.fault for cache in caches]) == ([], [""] * 4)


def test_what_a_killed_one_left_half_written_is_removed_in_time(tmp_path: Path) -> None:
    filled(tmp_path / "cache")
    for name, age in (("old", 100_000), ("young", 0)):
        path = tmp_path / "cache" / "new" / name
        path.write_text("half")
        then = path.stat().st_mtime - age
        os.utime(path, (then, then))
    Cache(tmp_path / "cache")
    assert os.listdir(tmp_path / "cache" / "new") == ["young"]


def test_the_key_changes_with_each_thing_that_a_result_depends_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip # noqa: E501
    terms = Terms("profile", "image", ())
    other = (Terms("x", "image", ()), Terms("profile", "x", ()), Terms("profile", "image", ("landlock",)))
    keys = [terms.key("s"), terms.key("t"), *(each.key("s") for each in other)]
    monkeypatch.setattr("casemate.batch.keys.makers", lambda: "another version")
    keys.append(terms.key("s"))
    assert len(set(keys)) == 6


@pytest.mark.parametrize("changed", ["guest/inspect.py", "gate/rules.py", "profiles/syscalls/cad.toml", "model.py"])
def test_another_version_of_what_makes_results_has_other_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    from casemate.batch import keys

    copy = tmp_path / "casemate"
    shutil.copytree(keys.PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__", "images", "verify", "bench"))
    monkeypatch.setattr(keys, "PACKAGE", copy)
    before = keys.makers.__wrapped__()
    assert before == keys.makers()
    assert (copy / changed).is_file()
    (copy / changed).write_text((copy / changed).read_text() + "\n")
    assert keys.makers.__wrapped__() != before


WELL = Outcome(Reason.EXITED, Stage.DONE, exit_code=0, verdict=Verdict.PART)


@pytest.mark.parametrize(
    ("outcome", "kept"),
    [
        (WELL, True),
        (Outcome(Reason.EXITED, Stage.SCRIPT, exit_code=1, verdict=Verdict.NO_RESULT), True),
        (Outcome(Reason.POLICY, Stage.GATE), True),
        (Outcome(Reason.SIGNALED, Stage.SCRIPT, signal=signal.SIGSEGV), True),
        (Outcome(Reason.SIGNALED, Stage.SCRIPT, signal=signal.SIGKILL), False),
        (Outcome(Reason.SIGNALED, Stage.SCRIPT, signal=signal.SIGTERM), False),
        (Outcome(Reason.LIMIT, Stage.SCRIPT, limit=Limit.STDOUT_BYTES), True),
        (Outcome(Reason.LIMIT, Stage.SCRIPT, limit=Limit.SOURCE_BYTES), True),
        (Outcome(Reason.LIMIT, Stage.SCRIPT, limit=Limit.WALL_TIME), False),
        (Outcome(Reason.LIMIT, Stage.SCRIPT, limit=Limit.CPU_TIME), False),
        (Outcome(Reason.LIMIT, Stage.SCRIPT, limit=Limit.MEMORY), False),
        (Outcome(Reason.LOST, Stage.GATE), False),
        (Outcome(Reason.CANCELLED, Stage.SCRIPT), False),
        (dataclasses.replace(WELL, verdict=Verdict.INSPECTOR_FAILED), False),
    ],
)
def test_only_what_the_program_alone_decides_is_kept(outcome: Outcome, kept: bool) -> None:
    assert results.repeatable(result(outcome)) is kept
