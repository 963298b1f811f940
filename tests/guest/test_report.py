"""The record writer: strict JSON, bounded records, whole writes, and no exception whatever the pipe does."""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Callable
from typing import Any

import pytest

from casemate.guest import report
from casemate.guest.report import Report, encode

NAN = float("nan")
Decode = Callable[[bytes], list[dict[str, Any]]]


def test_a_record_is_a_length_and_an_object() -> None:
    assert encode({"kind": "stage"}) == b'\x00\x00\x00\x10{"kind":"stage"}'


@pytest.mark.parametrize("number", [NAN, float("inf"), -float("inf")])
def test_what_is_not_finite_becomes_null(number: float, decode: Decode) -> None:
    assert decode(encode({"kind": "x", "values": [number, 1.5]})) == [{"kind": "x", "values": [None, 1.5]}]


def test_a_lone_surrogate_is_spelled_out(decode: Decode) -> None:
    assert decode(encode({"kind": "x", "text": "a\ud800b"}))[0]["text"] == "a\\ud800b"


def test_a_long_string_is_cut_and_says_so(decode: Decode) -> None:
    text = decode(encode({"kind": "x", "text": "é" * 10_000_000}))[0]["text"]
    assert text.startswith("é" * report.MAX_STRING)
    assert text.endswith(f"… ({10_000_000 - report.MAX_STRING} more)")


def test_a_long_list_is_cut_and_counted(decode: Decode) -> None:
    denials = [{"code": "node.Global", "line": number, "message": "x" * 100} for number in range(20_000)]
    record = decode(encode({"kind": "gate", "denials": denials, "notices": [], "omitted": 0}))[0]
    kept = record["denials"]
    assert kept == denials[: len(kept)]
    assert len(kept) > 300
    assert record["omitted"] == 20_000 - len(kept)


def test_many_long_strings_still_fit(decode: Decode) -> None:
    record = decode(encode({"kind": "x", **{f"s{number}": "y" * 4000 for number in range(40)}}))[0]
    assert record["kind"] == "x"


def test_what_cannot_be_shortened_leaves_only_its_kind(decode: Decode) -> None:
    assert decode(encode({"kind": "x", **{f"{number}": number for number in range(20_000)}}))[0]["kind"] == "x"


def test_a_closed_reader_ends_the_writing_in_silence() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    written = Report(writing)
    written.write("first")
    written.write("second")
    os.close(writing)


def test_a_closed_descriptor_ends_the_writing_in_silence() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    os.close(writing)
    Report(writing).write("stage")


def test_a_full_pipe_is_written_whole(decode: Decode) -> None:
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(writing, False)
    got: list[bytes] = []

    def drain() -> None:
        while chunk := os.read(reading, 1000):
            got.append(chunk)

    thread = threading.Thread(target=drain)
    thread.start()
    written = Report(writing)
    for number in range(20):
        written.write("part", name="n" * 4000, number=number)
    os.close(writing)
    thread.join(10)
    os.close(reading)
    assert [record["number"] for record in decode(b"".join(got))] == list(range(20))
