"""What is matched with what, and what is refused."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from casemate import Denied
from casemate.cad.pairs import MOST_LINE, match, read
from casemate.cad.score import _No, _read


def put(directory: Path, *names: str) -> Path:
    directory.mkdir(exist_ok=True)
    for name in names:
        (directory / name).write_text("x", "utf-8")
    return directory


def test_directories_are_matched_by_stem_in_the_references_order(tmp_path: Path) -> None:
    reference = put(tmp_path / "ref", "b.step", "a.STP", "c.step", "notes.txt")
    generated = put(tmp_path / "gen", "c.py", "a.step")
    found = match(generated, reference)
    assert [pair.id for pair in found] == ["a", "b", "c"]
    assert found[1].generated is None
    assert found[2].generated is not None
    assert found[2].generated.script == generated / "c.py"


def test_two_single_files_need_no_common_name(tmp_path: Path) -> None:
    put(tmp_path, "x.py", "y.step")
    [pair] = match(tmp_path / "x.py", tmp_path / "y.step")
    assert (pair.id, pair.reference.step) == ("x", tmp_path / "y.step")


def test_paths_of_rows_begin_at_their_file(tmp_path: Path) -> None:
    rows = [{"id": "1", "step": "parts/1.step"}, {"id": "2", "source": "r = 1", "difficulty": "easy", "prompt": "…"}]
    (tmp_path / "x.jsonl").write_text("\n\n".join(map(json.dumps, rows)), "utf-8")
    found = read(tmp_path / "x.jsonl")
    assert found["1"].step == tmp_path / "parts" / "1.step"
    assert (found["2"].source, found["2"].difficulty) == ("r = 1", "easy")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"id": "1"}', "one of step, script and source"),
        ('{"id": "1", "step": "a", "source": "b"}', "one of step, script and source"),
        ('{"id": 1, "step": "a"}', "id"),
        ('{"id": "", "step": "a"}', "id"),
        ('{"step": "a"}', "id"),
        ("[1]", "line 1"),
        ("not json", "no JSON object"),
        ("[" * 100_000, "no JSON object"),
        ('{"id": "1", "step": "a"}\n{"id": "1", "step": "b"}', "twice"),
        ('{"id": "1", "source": "' + "x" * MOST_LINE + '"}', "more than"),
        ("\xff", "line 1"),
    ],
)
def test_rows_that_cannot_be_read_are_denied(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(text.encode("latin-1"))
    with pytest.raises(Denied, match=words):
        read(tmp_path / "x.jsonl")


def test_what_does_not_match_is_denied(tmp_path: Path) -> None:
    reference = put(tmp_path / "ref", "a.step")
    with pytest.raises(Denied, match="no reference for b"):
        match(put(tmp_path / "gen", "a.step", "b.step"), reference)
    with pytest.raises(Denied, match="twice"):
        match(reference, put(tmp_path / "both", "a.step", "a.py"))
    with pytest.raises(Denied, match="no reference"):
        match(reference, put(tmp_path / "none"))
    with pytest.raises(Denied, match="is needed"):
        match(put(tmp_path, "a.stl") / "a.stl", reference)


def test_a_fifo_among_the_generated_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.step")
    found = _read(tmp_path / "a.step", 10)
    assert isinstance(found, _No)
    assert found.reason == "unreadable"


def test_a_file_is_read_up_to_its_bound(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    assert _read(tmp_path / "a", 5) == [b"12345"]
    assert isinstance(_read(tmp_path / "a", 4), _No)
