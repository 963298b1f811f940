"""A batch around a stand-in for the run: order, memory, duplicates, and going on where it was broken off."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from batch.standin import TERMS, Runs, artifact, mapped, part, result, rows
from harness import wait_until

from casemate import Busy, Outcome, Reason, Stage
from casemate.batch import Batch, Cache, Output, Row, Unreadable, Why
from casemate.control.runs import Cancellation
from casemate.model import RunResult, ScriptError

NAMES = tuple(b"script %d" % number for number in range(9))


def lines(directory: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (directory / "results.jsonl").read_bytes().splitlines()]


def test_rows_are_in_order_with_what_they_carry(tmp_path: Path) -> None:
    unread = Row("x:2", "two", None, Unreadable(Why.NOT_JSON, "no"))
    done = mapped(Runs(), iter([Row("x:1", "one", b"a"), unread, Row("x:3", 3, b"lost")]), tmp_path / "o", None)
    assert [one.label for one in done] == ["ok", "unreadable not_json", "lost"]
    found = lines(tmp_path / "o")
    assert [one.row for one in done] == found
    assert [(row["index"], row["place"], row["id"], row["ok"]) for row in found] == [
        (0, "x:1", "one", True), (1, "x:2", "two", False), (2, "x:3", 3, False),
    ]  # fmt: skip
    assert found[1]["unreadable"] == {"reason": "not_json", "message": "no"}
    [file] = found[0]["result"]["artifacts"].values()
    assert (tmp_path / "o" / file["path"]).read_bytes() == b"ISO-10303-21;a"
    assert sorted(os.listdir(tmp_path / "o")) == ["artifacts", "results.jsonl"]


def test_a_row_asks_the_cache_before_a_sandbox(tmp_path: Path) -> None:
    first, second = Runs(), Runs()
    mapped(first, rows(*NAMES), tmp_path / "a", tmp_path / "c", usage=True)
    done = mapped(second, rows(*reversed(NAMES), b"new"), tmp_path / "b", tmp_path / "c", usage=True)
    assert (second.ran, len(first.ran)) == ({b"new": 1}, 9)
    assert [one.origin for one in done] == ["cache"] * 9 + ["run"]
    again = Runs()
    mapped(again, rows(*NAMES), tmp_path / "d", None)
    assert len(again.ran) == 9


def test_a_kept_result_is_the_fresh_one_to_the_byte(tmp_path: Path) -> None:
    for name, cache in (("fresh", "c"), ("kept", "c"), ("none", "")):
        mapped(Runs(), rows(*NAMES), tmp_path / name, tmp_path / cache if cache else None)
    fresh, kept, none = ((tmp_path / name / "results.jsonl").read_bytes() for name in ("fresh", "kept", "none"))
    assert fresh == kept == none
    assert sorted(os.listdir(tmp_path / "fresh" / "artifacts")) == sorted(os.listdir(tmp_path / "kept" / "artifacts"))


def test_duplicates_run_once(tmp_path: Path) -> None:
    run = Runs()
    mapped(run, rows(*(b"same" for _ in range(200)), *(b"other" for _ in range(200))), tmp_path / "o", tmp_path / "c")
    assert run.ran == {b"same": 1, b"other": 1}
    without = Runs()
    mapped(without, rows(*(b"same" for _ in range(20))), tmp_path / "p", None)
    assert without.ran == {b"same": 20}


@pytest.mark.parametrize("source", [b"lost", b"slow"])
def test_what_the_program_did_not_decide_is_run_each_time(tmp_path: Path, source: bytes) -> None:
    run = Runs()
    mapped(run, rows(source, source), tmp_path / "a", tmp_path / "c")
    mapped(run, rows(source), tmp_path / "b", tmp_path / "c")
    assert run.ran == {source: 3}


def test_equal_rows_that_cannot_be_kept_run_at_the_same_time(tmp_path: Path) -> None:
    """The others wait for the first one only: so one script that hangs holds as many rows back as it would alone."""
    together = threading.Barrier(3)
    first = threading.Lock()

    class Meeting(Runs):
        def __call__(self, source: bytes, cancellation: Cancellation) -> RunResult:
            made = super().__call__(source, cancellation)
            if not first.acquire(blocking=False):
                together.wait(30)
            return made

    run = Meeting()
    mapped(run, rows(*[b"slow"] * 4), tmp_path / "a", tmp_path / "c", jobs=4)
    assert run.ran == {b"slow": 4}


def test_a_damaged_entry_is_run_again_and_mended(tmp_path: Path) -> None:
    mapped(Runs(), rows(*NAMES), tmp_path / "a", tmp_path / "c")
    for number, path in enumerate(sorted((tmp_path / "c" / "results").rglob("?" * 64))[:4]):
        data = path.read_bytes()
        path.write_bytes([b"", data[:-5], data + b"x", data.replace(b"part", b"trap")][number])
    stored = sorted(path for path in (tmp_path / "c" / "files").rglob("*") if path.is_file())
    run = Runs()
    mapped(run, rows(*NAMES), tmp_path / "b", tmp_path / "c")
    assert sum(run.ran.values()) == 4
    for path in stored[:2]:
        path.write_bytes(path.read_bytes()[:-1] + b"!")
    again = Runs()
    mapped(again, rows(*NAMES), tmp_path / "d", tmp_path / "c")
    assert sum(again.ran.values()) == 2
    last = Runs()
    mapped(last, rows(*NAMES), tmp_path / "e", tmp_path / "c")
    assert not last.ran
    whole = {(tmp_path / name / "results.jsonl").read_bytes() for name in "abde"}
    assert len(whole) == 1
    for path in (tmp_path / "d" / "artifacts").iterdir():
        assert path.name == artifact(path.read_bytes()).sha256 + ".step"


FORGED = b'"}\n{"index": 0, "ok": true, "id": "forged"}\r\n\x1b[2J\xff\xe2\x80\xa8\xe2\x80\xa9\x00'


def test_what_a_script_says_stays_one_json_string(tmp_path: Path) -> None:
    text = FORGED.decode("utf-8", "replace") + "\ud800"
    outcome = Outcome(
        Reason.EXITED, Stage.SCRIPT, exit_code=1, message=text, error=ScriptError("E" + text, text, 1, text)
    )

    def run(source: bytes, cancellation: Cancellation) -> RunResult:
        return result(outcome, FORGED)

    mapped(run, rows(b"a", b"b"), tmp_path / "o", None)  # type: ignore[arg-type]
    data = (tmp_path / "o" / "results.jsonl").read_bytes()
    assert set(data) <= {10, *range(32, 127)}
    assert data.count(b"\n") == 2
    row = lines(tmp_path / "o")[1]
    assert row["result"]["stdout"]["text"] == FORGED.decode("utf-8", "replace")
    assert row["result"]["outcome"]["error"]["type"] == "E" + FORGED.decode("utf-8", "replace") + "\\ud800"
    assert row["id"] is None


def test_what_a_script_says_is_bounded(tmp_path: Path) -> None:
    from casemate.batch import results
    from casemate.model import Denial, Part, Verdict

    long = "\u0001" * 60_000
    denial = Denial(long, long, 1, 0, long, long, long, long)
    outcome = Outcome(Reason.POLICY, Stage.GATE, message=long, denials=(denial,) * 900)
    huge = result(outcome, b"\x00" * (4 << 20), parts=tuple(Part(long, Verdict.INVALID) for _ in range(64)))
    found = results.kept(huge)
    assert len(results.line(found)) < 1 << 20
    assert (found["cut"], found["stdout"]["truncated"], found["stdout"]["total"]) == (True, True, 4 << 20)
    assert results.valid(found, results.usage(huge.usage))
    assert results.kept(part(b"x"))["cut"] is False


def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    """Ten times the rows take no more; the twin keeps what it is given, and is seen."""
    bad = Unreadable(Why.NOT_JSON, "no")

    def peak(count: int, keep: bool) -> int:
        directory = tmp_path / f"{count}-{keep}"
        given = (
            Row(f"r:{n}", n, None if n % 10 else b"script %d" % (n % 7), bad if n % 10 else None) for n in range(count)
        )
        held = []
        gc.collect()
        tracemalloc.start()
        try:
            with Output(directory) as output:
                for done in Batch(Runs(), TERMS, output, Cache(tmp_path / "c")).done(given, 2):
                    if keep:
                        held.append(done.row)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(500, keep=False)
    few, many = peak(600, keep=False), peak(6_000, keep=False)
    waiting = 2 << 20  # what may wait for the consumer (flow.AHEAD, EACH), which is not always as much
    assert many < few + waiting
    assert peak(6_000, keep=True) > few + waiting


def interrupted(run: Runs, given: Iterator[Row], directory: Path, cache: Path | None, after: int) -> None:
    """A map whose consumer goes after so many rows, as ^C makes it go."""
    with Output(directory) as output:
        found = Batch(run, TERMS, output, None if cache is None else Cache(cache)).done(given, 2)
        with contextlib.closing(found):
            for _ in range(after):
                next(found)


@pytest.mark.parametrize("torn", [0, 1, 40])
def test_it_goes_on_behind_the_last_whole_row(tmp_path: Path, torn: int) -> None:
    mapped(Runs(), rows(*NAMES), tmp_path / "whole", None)
    interrupted(Runs(), rows(*NAMES), tmp_path / "o", None, 5)
    partial = tmp_path / "o" / "results.jsonl.partial"
    assert not (tmp_path / "o" / "results.jsonl").exists()
    size = partial.stat().st_size
    assert partial.read_bytes().count(b"\n") == 5
    os.truncate(partial, size - torn)
    run = Runs()
    done = mapped(run, rows(*NAMES), tmp_path / "o", None)
    kept = 5 if torn == 0 else 4
    assert [one.origin for one in done] == ["partial"] * kept + ["run"] * (9 - kept)
    assert set(run.ran) == set(NAMES[kept:])
    assert (tmp_path / "o" / "results.jsonl").read_bytes() == (tmp_path / "whole" / "results.jsonl").read_bytes()
    assert not partial.exists()


def damage(partial: Path, number: int, change: bytes) -> None:
    found = partial.read_bytes().splitlines(keepends=True)
    found[number] = change
    partial.write_bytes(b"".join(found))


@pytest.mark.parametrize(
    "change", [b"\n", b"{}\n", b"null\n", b"[]\n", b"\xff\n", b'{"index": 2, "result": 5}\n', b"\xef\xbb\xbf{}\n"]
)
def test_rows_behind_one_that_is_not_its_own_are_made_again(tmp_path: Path, change: bytes) -> None:
    mapped(Runs(), rows(*NAMES), tmp_path / "whole", None)
    interrupted(Runs(), rows(*NAMES), tmp_path / "o", None, 5)
    damage(tmp_path / "o" / "results.jsonl.partial", 2, change)
    run = Runs()
    mapped(run, rows(*NAMES), tmp_path / "o", None)
    assert set(run.ran) == set(NAMES[2:])
    assert (tmp_path / "o" / "results.jsonl").read_bytes() == (tmp_path / "whole" / "results.jsonl").read_bytes()


def test_a_byte_order_mark_at_the_head_of_the_rows_shifts_nothing(tmp_path: Path) -> None:
    mapped(Runs(), rows(*NAMES), tmp_path / "whole", None)
    interrupted(Runs(), rows(*NAMES), tmp_path / "o", None, 5)
    partial = tmp_path / "o" / "results.jsonl.partial"
    partial.write_bytes(b"\xef\xbb\xbf" + partial.read_bytes())
    mapped(Runs(), rows(*NAMES), tmp_path / "o", None)
    assert (tmp_path / "o" / "results.jsonl").read_bytes() == (tmp_path / "whole" / "results.jsonl").read_bytes()


def test_other_sources_are_not_taken_for_those_that_were_done(tmp_path: Path) -> None:
    interrupted(Runs(), rows(*NAMES), tmp_path / "o", None, 5)
    changed = (NAMES[0], b"changed", *NAMES[2:])
    run = Runs()
    mapped(run, rows(*changed), tmp_path / "o", None)
    assert set(run.ran) == set(changed[1:])
    assert [row["index"] for row in lines(tmp_path / "o")] == list(range(9))


@pytest.mark.parametrize("left", [None, b"", b"\0" * 21, b"ISO-10303-21;script 3!"])
def test_a_file_that_is_gone_or_damaged_is_made_again(tmp_path: Path, left: bytes | None) -> None:
    interrupted(Runs(), rows(*NAMES), tmp_path / "o", None, 5)
    path = tmp_path / "o" / "artifacts" / f"{artifact(b'ISO-10303-21;' + NAMES[3]).sha256}.step"
    path.unlink()
    if left is not None:
        path.write_bytes(left)
    run = Runs()
    mapped(run, rows(*NAMES), tmp_path / "o", None)
    assert set(run.ran) == set(NAMES[3:])
    assert path.read_bytes() == b"ISO-10303-21;" + NAMES[3]
    assert len(os.listdir(tmp_path / "o" / "artifacts")) == 9


KILLED = """
import os, signal, sys
from pathlib import Path
from casemate.control.files import write_file
os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
write_file(Path(sys.argv[1]), b"half of it")
"""


def test_a_file_that_was_not_written_whole_is_not_left(tmp_path: Path) -> None:
    place = tmp_path / "o" / "artifacts"
    place.mkdir(parents=True)
    ended = subprocess.run([sys.executable, "-c", KILLED, place / "file"], check=False)
    assert (ended.returncode, len(os.listdir(place))) == (-signal.SIGKILL, 1)
    mapped(Runs(), rows(b"a"), tmp_path / "o", None)
    [row] = lines(tmp_path / "o")
    assert os.listdir(place) == [Path(file["path"]).name for file in row["result"]["artifacts"].values()]


def test_fewer_sources_than_rows_that_were_done(tmp_path: Path) -> None:
    interrupted(Runs(), rows(*NAMES), tmp_path / "o", None, 5)
    mapped(Runs(), rows(*NAMES[:2]), tmp_path / "o", None)
    assert [row["index"] for row in lines(tmp_path / "o")] == [0, 1]


def test_a_finished_map_is_replaced_when_the_next_is_finished(tmp_path: Path) -> None:
    mapped(Runs(), rows(*NAMES), tmp_path / "o", None)
    before = (tmp_path / "o" / "results.jsonl").read_bytes()
    interrupted(Runs(), rows(b"new"), tmp_path / "o", None, 1)
    assert (tmp_path / "o" / "results.jsonl").read_bytes() == before
    mapped(Runs(), rows(b"new"), tmp_path / "o", None)
    assert len(lines(tmp_path / "o")) == 1


def test_one_map_at_a_time_writes_to_a_directory(tmp_path: Path) -> None:
    with Output(tmp_path / "o"), pytest.raises(Busy, match="another map"), Output(tmp_path / "o"):
        pass
    with Output(tmp_path / "o"):
        pass


def test_a_link_in_place_of_the_rows_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "o").mkdir()
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "o" / "results.jsonl.partial").symlink_to("../precious")
    with pytest.raises(OSError, match="symbolic"), Output(tmp_path / "o"):
        pass
    assert (tmp_path / "precious").read_text() == "mine"


def test_a_source_that_waits_holds_no_row_back(tmp_path: Path) -> None:
    more, end = threading.Event(), threading.Event()

    def waiting() -> Iterator[Row]:
        yield from rows(b"a", b"b")
        more.wait(30)
        yield Row("rows.jsonl:3", None, b"c")

    def consume() -> None:
        mapped(Runs(), waiting(), tmp_path / "o", None)
        end.set()

    thread = threading.Thread(target=consume)
    thread.start()
    partial = tmp_path / "o" / "results.jsonl.partial"
    assert wait_until(lambda: partial.exists() and partial.read_bytes().count(b"\n") == 2, 20)
    assert not end.is_set()
    more.set()
    thread.join(30)
    assert len(lines(tmp_path / "o")) == 3


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"cut":false', b'"cut":NaN'), (b'"ok":true', b'"ok":"yes"'), (b'"ok":true', b'"ok":false'),
        (b'"trusted":', b'"more":1,"trusted_":'), (b'"degraded":[]', b'"degraded":5'),
        (b'"unreadable":null', b'"unreadable":{"reason":"not_json","message":""}'),
        (b'"usage":null', b'"usage":null,"more":1'),
    ],
)  # fmt: skip
def test_a_row_that_no_map_wrote_is_made_again(tmp_path: Path, old: bytes, new: bytes) -> None:
    mapped(Runs(), rows(*NAMES), tmp_path / "whole", None)
    interrupted(Runs(), rows(*NAMES), tmp_path / "o", None, 5)
    partial = tmp_path / "o" / "results.jsonl.partial"
    line = partial.read_bytes().splitlines(keepends=True)[2]
    assert old in line
    damage(partial, 2, line.replace(old, new, 1))
    run = Runs()
    mapped(run, rows(*NAMES), tmp_path / "o", None)
    assert set(run.ran) == set(NAMES[2:])
    assert (tmp_path / "o" / "results.jsonl").read_bytes() == (tmp_path / "whole" / "results.jsonl").read_bytes()
