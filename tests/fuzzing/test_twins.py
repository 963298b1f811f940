"""What fuzzing must find is found: each judge sees what it is there for."""

from __future__ import annotations

import importlib
import os
import time
from pathlib import Path

import pytest

from casemate.launcher import descriptors, spec
from casemate.runtime import artifacts, report
from fuzz import admitted, gate, hunt, reports, trees, wire
from fuzz.judge import Check, judged

CPU, MEMORY = 1, 64 << 20


def raises(_: bytes) -> str:
    raise KeyError("planted")


def spins(_: bytes) -> str:
    end = time.process_time() + 20
    while time.process_time() < end:
        pass
    return "done"


def takes(_: bytes) -> str:
    return str(len(bytes(MEMORY + (16 << 20))))


def takes_too_much(_: bytes) -> str:
    return str(len(bytes(4 * MEMORY)))


def leaves(_: bytes) -> str:
    os._exit(7)


@pytest.mark.parametrize(
    ("check", "why"),
    [
        (raises, "KeyError: 'planted'"),
        (spins, "SIGXCPU"),
        (takes, "MiB"),
        (takes_too_much, "MemoryError"),
        (leaves, "status 7"),
    ],
)
def test_a_fault_a_loop_and_a_hog_are_wrong(check: Check, why: str) -> None:
    def among(data: bytes) -> str:
        return check(data) if data == b"bad" else "fine"

    told = judged(among, [b"good", b"bad", b"good"], CPU, MEMORY)
    assert [wrong for _, wrong in told if why not in wrong] == ["", ""]
    assert (told[0], told[2]) == (("fine", ""), ("fine", ""))


def test_a_case_is_made_small() -> None:
    case = b"\n".join([b"one", b"two", b"three and the needle", b"four"] * 9)
    assert hunt.smaller(case, lambda case: b"needle" in case) == b"needle"


def test_a_gate_that_admits_what_no_table_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    assert gate.cad(b"x = __builtins__") == "denied"
    checker = importlib.import_module("casemate.gate.check")
    monkeypatch.setattr(checker.names, "check", lambda place, context: None)
    with pytest.raises(AssertionError):
        gate.cad(b"x = __builtins__")


def test_a_codec_that_takes_a_boolean_for_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    packet = spec.encode(spec.Exited("x", 0, 0, 1.0)).replace(b'"signal":0', b'"signal":true')
    assert wire.check(packet) == "refused"
    spec._builder.cache_clear()
    monkeypatch.setattr(spec, "_exactly", lambda kind: lambda value: value)
    try:
        with pytest.raises(AssertionError):
            wire.check(packet)
    finally:
        spec._builder.cache_clear()


def test_a_channel_that_leaves_descriptors_open(monkeypatch: pytest.MonkeyPatch) -> None:
    packet = b"x" * 6  # with one descriptor
    assert wire.check(packet) == "refused"
    monkeypatch.setattr(descriptors, "discard", lambda received: None)
    with pytest.raises(AssertionError):
        wire.check(packet)


def test_a_report_that_is_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    denied = reports.record({"kind": "gate", "admitted": False, "denials": [], "notices": [], "seconds": 0.0})
    data = reports.record(reports.EVERY[2]) + denied
    assert reports.check(data) == "read"
    latest = property(lambda told: next(r for r in reversed(told.records) if isinstance(r, report.GateRecord)))
    monkeypatch.setattr(report.Report, "gate", latest)
    with pytest.raises(AssertionError):
        reports.check(data)


def test_a_collector_that_follows_links(monkeypatch: pytest.MonkeyPatch) -> None:
    case = b'{"make": [["link", "out/a", "../../secret"]], "take": ["out/a"]}'
    assert trees.check(case) == "0 taken"
    followed = lambda fd, path, flags, resolve: os.open(path, os.O_RDONLY, dir_fd=fd)  # noqa: E731
    monkeypatch.setattr(artifacts.syscalls, "openat2", followed)
    with pytest.raises(AssertionError):
        trees.check(case)


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (b"open('/tmp/left', 'w').close()", "files"),
        (b"import os\nprint(os.environ['CASEMATE_CANARY'])", "the token was read"),
        (b"import glob\nprint(open(glob.glob('/tmp/canary-*')[0]).read())", "the token was read"),
        (b"import glob\nopen(glob.glob('/tmp/canary-*')[0], 'a').write('x')", "the canary was written to"),
        (b"import socket\nsocket.create_connection(('127.0.0.1', 8000))", "something connected"),
    ],
)
def test_effects_outside_are_seen_where_there_is_no_wall(script: bytes, why: str, tmp_path: Path) -> None:
    if os.geteuid() != 0 and why in ("files", "something connected"):
        pytest.skip("without a mount and a network namespace of its own a program cannot tell whose they are")
    told = admitted.run([script], tmp_path, walls=False)
    assert told["wrong"] is not None
    assert told["wrong"][1].startswith(why)
