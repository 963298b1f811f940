"""`casemate cad generate` and `replay` as a user runs them, with the recorded server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cad.test_openai_client import CODE, served
from cli.command import casemate, document

BAD = "```python\nimport os\n```\n"


def generate(url: str, out: Path, *more: object) -> Any:
    return casemate("cad", "generate", "a box", "--model", url, "--model-name", "m", "--out", out, *more)


def test_a_prompt_becomes_a_part(tmp_path: Path, profile: str, whole: dict[str, Any]) -> None:
    with served(tmp_path, BAD, CODE) as url:
        done = generate(url, tmp_path / "out", "--profile", profile, "--box", "1,2,3", "--json")
    found = document(done, "GenerationDocument", whole, 0)
    assert (found["ok"], found["reason"], found["best"]) == (True, "part", 2)
    assert [attempt["ok"] for attempt in found["attempts"]] == [False, True]
    assert Path(found["paths"]["part"]).read_bytes().startswith(b"ISO-10303-21")
    assert "box(1, 2, 3)" in Path(found["paths"]["script"]).read_text("utf-8")
    assert Path(found["paths"]["picture"]).read_text("utf-8").startswith("<svg ")
    record = Path(found["paths"]["record"])
    assert json.loads(record.read_text("utf-8"))["request"] == "a box"
    again = document(casemate("cad", "replay", record, "--json"), "ReplayDocument", whole, 0)
    assert [one["difference"] for one in again["attempts"]] == ["", ""]


def test_without_a_part_it_ends_with_1_and_says_why(tmp_path: Path, profile: str) -> None:
    with served(tmp_path, BAD) as url:
        done = generate(url, tmp_path / "out", "--profile", profile, "--attempts", "2")
    assert done.returncode == 1
    assert "`os` may not be imported" in done.stdout
    assert "none of 2 attempts" in done.stdout
    assert not (tmp_path / "out" / "part.step").exists()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--key", "sk-secret"), "reference"),
        (("--key", "env:NO_SUCH_VARIABLE"), "not set"),
        (("--attempts", "0"), "at least one"),
        (("--symmetric", "q"), "symmetric"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_asked(
    more: tuple[str, ...], words: str, tmp_path: Path, whole: dict[str, Any]
) -> None:
    found = document(generate("http://127.0.0.1:9/v1", tmp_path, *more, "--json"), "ErrorDocument", whole, 3)
    assert words in found["message"]
    assert "sk-secret" not in json.dumps(found)
