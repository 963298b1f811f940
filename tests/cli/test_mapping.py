"""`casemate map` as a user runs it: documents, statuses, streams, and a run that is killed in the middle."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from cli.command import BOX, DENIED, FAILING, casemate, document, inside
from harness import wait_until
from processes import descendants, fields, guests
from rich.console import Console

from casemate import Host
from casemate.batch import Batch, Inputs, Output
from casemate.batch.keys import Terms
from casemate.cli import terminal
from casemate.control.leases import LOCAL


def write(path: Path, *sources: object) -> Path:
    path.write_text("".join(json.dumps({"id": n, "source": s}) + "\n" for n, s in enumerate(sources)), "utf-8")
    return path


def rows(directory: Path, whole: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of results.jsonl, each valid by the schema, with nothing in them that it does not promise."""
    found = [json.loads(line) for line in (directory / "results.jsonl").read_bytes().splitlines()]
    for row in found:
        jsonschema.validate(row, {"$ref": "#/$defs/MapRow", "$defs": whole["$defs"]})
        assert set(row) == set(whole["$defs"]["MapRow"]["properties"])
        assert set(row["result"] or whole["$defs"]["MapResult"]["properties"]) == set(
            whole["$defs"]["MapResult"]["properties"]
        )
    return found


@pytest.mark.usefixtures("lent")
def test_map(tmp_path: Path, profile: str, whole: dict[str, Any]) -> None:
    source = write(tmp_path / "rows.jsonl", BOX, DENIED, FAILING, BOX)
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "last.py").write_text(BOX)
    arguments = (
        "map", source, tmp_path / "more", "--profile", profile, "--cache", tmp_path / "c", "--jobs", 2, "--json",
    )  # fmt: skip
    found = document(casemate(*arguments, "--out", tmp_path / "o"), "MapDocument", whole, 0)
    assert (found["rows"], found["counts"]) == (5, {"ok": 3, "policy": 1, "raised": 1})
    assert (found["ran"], found["cached"], found["results"]) == (3, 2, f"{tmp_path}/o/results.jsonl")
    made = rows(tmp_path / "o", whole)
    assert [(row["place"], row["id"]) for row in made] == [
        *((f"{source}:{n + 1}", n) for n in range(4)), (f"{tmp_path}/more/last.py", None),
    ]  # fmt: skip
    assert [row["usage"] for row in made] == [None] * 5
    again = document(inside(*arguments, "--out", tmp_path / "p"), "MapDocument", whole, 0)
    assert (again["ran"], again["cached"]) == (0, 5)
    assert (tmp_path / "p" / "results.jsonl").read_bytes() == (tmp_path / "o" / "results.jsonl").read_bytes()
    # Another limit is another key.
    lowered = inside(*arguments, "--limit", "wall_time=50", "--out", tmp_path / "q")
    assert document(lowered, "MapDocument", whole, 0)["ran"] == 3


def test_rows_that_cannot_be_read_and_a_stream(tmp_path: Path, profile: str, whole: dict[str, Any]) -> None:
    stream = b'not json\n{"code": 5}\n' + json.dumps({"code": BOX, "id": "b"}).encode() + b"\n{}\n\xff\n"
    done = casemate(
        "map", "-", "--profile", profile, "--column", "code", "--no-cache", "--usage", "--json", "--out",
        tmp_path / "o",
        stdin=stream.replace(b"\xff", b'{"code": "\\ud800"}'),
    )  # fmt: skip
    found = document(done, "MapDocument", whole, 1)
    assert (found["unread"], found["ran"]) == (4, 1)
    made = rows(tmp_path / "o", whole)
    reasons = [row["unreadable"] and row["unreadable"]["reason"] for row in made]
    assert reasons == ["not_json", "not_text", None, "no_column", "not_utf8"]
    assert [row["place"] for row in made] == [f"-:{n}" for n in range(1, 6)]
    assert made[2]["ok"]
    assert made[2]["usage"]["wall"] > 0


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("{}/missing.py",), 2, "missing.py"),
        (("{}/rows.jsonl", "--profile", "nothing"), 3, "nothing"),
        (("{}/rows.jsonl", "--limit", "wall_time=1e9"), 3, "wall_time"),
        (("{}/rows.jsonl", "--jobs", "0"), 2, "whole number"),
        (("{}/rows.jsonl", "--cache", "{}/open"), 3, "chmod 700"),
        (("-", "-"), 3, "once"),
    ],
)
@pytest.mark.usefixtures("cold")
def test_what_is_refused_is_refused_before_anything_is_made(
    tmp_path: Path, whole: dict[str, Any], arguments: tuple[str, ...], status: int, said: str
) -> None:
    write(tmp_path / "rows.jsonl", BOX)
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o755)
    given = [argument.format(tmp_path) for argument in arguments]
    if "--profile" not in given:
        given += ["--profile", "strongest"]
    found = document(inside("map", *given, "--out", tmp_path / "o", "--json"), "ErrorDocument", whole, status)
    assert said in found["message"]
    assert not (tmp_path / "o").exists()


def start(*arguments: str | Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "casemate.cli", "map", *map(str, arguments)], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        # What runs in the background of a script inherits an ignored SIGINT (sh, "Asynchronous Lists").
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip


def unbroken(host: Host, profile: str, source: Path, directory: Path) -> None:
    """The same map by a Host of this process, without a break."""
    terms = Terms.of_request(host.request(b"", profile, None, None, LOCAL, LOCAL))
    with Output(directory) as output:
        for _ in Batch(host.runner(profile), terms, output, None).done(Inputs.of([str(source)]).rows(), 2):
            pass


def whole_lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


@pytest.mark.usefixtures("lent")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_a_map_that_was_ended_in_the_middle_goes_on(
    tmp_path: Path, host: Host, profile: str, whole: dict[str, Any], how: signal.Signals
) -> None:
    source = write(tmp_path / "rows.jsonl", *(BOX.replace("30", str(n)) for n in range(1, 9)))
    arguments = (source, "--profile", profile, "--jobs", 2, "--no-cache")
    process = start(*arguments, "--out", tmp_path / "o")
    partial = tmp_path / "o" / "results.jsonl.partial"
    try:
        assert wait_until(lambda: whole_lines(partial) >= 2 or process.poll() is not None, 90)
        assert wait_until(lambda: guests(process.pid) or process.poll() is not None, 30)
        family = descendants(process.pid)
        os.killpg(process.pid, how)
        _, err = process.communicate(timeout=30)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == (130 if how is signal.SIGINT else -signal.SIGKILL)
    assert "Traceback" not in err
    assert wait_until(lambda: not [pid for pid in family if fields(pid)], 10)
    assert not (tmp_path / "o" / "results.jsonl").exists()
    before = whole_lines(partial)
    assert 2 <= before < 8
    if how is signal.SIGINT:
        return  # what is there is as after a kill
    with partial.open("ab") as file:  # what a write leaves that did not come to its end
        file.write(b'{"index": 9, "place": "to')
    found = document(inside("map", *map(str, arguments), "--out", tmp_path / "o", "--json"), "MapDocument", whole, 0)
    assert (found["resumed"], found["ran"], found["rows"]) == (before, 8 - before, 8)
    unbroken(host, profile, source, tmp_path / "unbroken")
    assert (tmp_path / "o" / "results.jsonl").read_bytes() == (tmp_path / "unbroken" / "results.jsonl").read_bytes()
    assert sorted(os.listdir(tmp_path / "o" / "artifacts")) == sorted(os.listdir(tmp_path / "unbroken" / "artifacts"))
    assert len(rows(tmp_path / "o", whole)) == 8


def test_an_interrupt_while_the_stream_waits(tmp_path: Path, profile: str) -> None:
    """Nobody can wake the thread that reads: it must not hold the end of the process."""
    process = subprocess.Popen(
        [sys.executable, "-m", "casemate.cli", "map", "-", "--profile", profile, "--no-cache", "--out", str(tmp_path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    try:
        assert process.stdin is not None
        process.stdin.write(b"no row\n[]\n")
        process.stdin.flush()
        # They are written although the stream goes on.
        assert wait_until(lambda: whole_lines(tmp_path / "results.jsonl.partial") == 2, 60)
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(30) == 130
        assert process.stderr is not None
        assert process.stderr.read() == b"casemate: interrupted\n"
    finally:
        process.kill()
        process.communicate()


@pytest.mark.usefixtures("cold")
def test_on_a_terminal_a_bar_shows_rows_and_failures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(terminal, "err", Console(file=shown, force_terminal=True, width=200))
    source = tmp_path / "rows.jsonl"
    source.write_text('{"source": 5}\n' * 300)
    arguments = ("map", source, "--profile", "strongest", "--no-cache", "--out", tmp_path / "o")
    for watched in (False, True):
        monkeypatch.setattr(terminal, "watched", lambda seen=watched: seen)
        assert inside(*arguments).returncode == 1
        assert ("300/" in shown.getvalue()) is watched
        assert ("unreadable not_text 300" in shown.getvalue()) is watched


@pytest.mark.usefixtures("cold")
def test_what_a_person_sees(tmp_path: Path) -> None:
    source = tmp_path / "rows.jsonl"
    source.write_text("[]\n" + '{"source": 5}\n' * 1200)
    done = inside("map", source, "--profile", "strongest", "--no-cache", "--out", tmp_path / "o")
    assert done.returncode == 1
    head, *rest = done.stdout.splitlines()
    assert head.startswith("1,201 rows in ")
    assert rest == ["  unreadable not_text: 1,200", "  unreadable not_json: 1", f"  {tmp_path}/o/results.jsonl"]
    assert done.stderr == ""
