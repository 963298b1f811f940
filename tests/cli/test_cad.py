"""`casemate cad generate` and `replay` as a user runs them, with the recorded server."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cad.test_openai_client import CODE, served
from cli.command import casemate, document, inside

from casemate.cli import terminal

NOBODY = "http://127.0.0.1:9/v1"
BAD = "```python\nimport os\n```\n"


def generate(url: str, out: Path, *more: object, how: Callable[..., Any] = casemate) -> Any:
    return how("cad", "generate", "a box", "--model", url, "--model-name", "m", "--out", out, *more)


def refused(out: Path, *more: object) -> Any:
    """What is refused before a model is asked, or a room."""
    return generate(NOBODY, out, *more, how=inside)


@pytest.mark.usefixtures("lent")
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
    again = document(inside("cad", "replay", record, "--json"), "ReplayDocument", whole, 0)
    assert [one["difference"] for one in again["attempts"]] == ["", ""]


@pytest.mark.usefixtures("lent")
def test_without_a_part_it_ends_with_1_and_says_why(tmp_path: Path, profile: str) -> None:
    (tmp_path / "out").mkdir()
    for name in ("part.step", "picture.svg"):
        (tmp_path / "out" / name).write_text("of an earlier prompt", "utf-8")
    with served(tmp_path, BAD) as url:
        done = generate(url, tmp_path / "out", "--profile", profile, "--attempts", "2", how=inside)
    assert done.returncode == 1
    assert "`os` may not be imported" in done.stdout
    assert "none of 2 attempts" in done.stdout
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["record.json", "script.py"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--key", "sk-secret"), "reference"),
        (("--key", "env:NO_SUCH_VARIABLE"), "not set"),
        (("--attempts", "0"), "at least one"),
        (("--symmetric", "q"), "symmetric"),
    ],
)
@pytest.mark.usefixtures("cold")
def test_what_is_wrong_is_said_before_anything_is_asked(
    more: tuple[str, ...], words: str, tmp_path: Path, whole: dict[str, Any]
) -> None:
    found = document(refused(tmp_path, *more, "--json"), "ErrorDocument", whole, 3)
    assert words in found["message"]
    assert "sk-secret" not in json.dumps(found)


@pytest.mark.parametrize(
    ("content", "why"), [(b"sk-secret\nsk-other\n", "line break"), (b"", "empty"), (b"sk-secret\xff", "not UTF-8")]
)
@pytest.mark.usefixtures("cold")
def test_a_file_that_holds_no_key_is_refused_unseen(
    content: bytes, why: str, tmp_path: Path, whole: dict[str, Any]
) -> None:
    (tmp_path / "key").write_bytes(content)
    done = refused(tmp_path / "out", "--key", f"file:{tmp_path / 'key'}", "--json")
    found = document(done, "ErrorDocument", whole, 3)
    assert why in found["message"]
    assert "sk-" not in done.stdout + done.stderr


def test_a_profile_for_plain_programs_is_refused(tmp_path: Path, whole: dict[str, Any]) -> None:
    done = generate(NOBODY, tmp_path, "--profile", "python", "--json")
    assert "CAD profile" in document(done, "ErrorDocument", whole, 3)["message"]


@pytest.mark.usefixtures("cold")
def test_a_template_that_is_not_text_is_refused(tmp_path: Path, whole: dict[str, Any]) -> None:
    (tmp_path / "first.txt").write_bytes(b"\xff")
    done = refused(tmp_path / "out", "--prompts", tmp_path, "--json")
    assert "not UTF-8" in document(done, "ErrorDocument", whole, 3)["message"]


@pytest.mark.usefixtures("cold")
def test_a_box_of_two_numbers_is_usage(tmp_path: Path) -> None:
    done = refused(tmp_path, "--box", "1,2")
    assert done.returncode == 2
    assert "3 numbers" in done.stderr


def test_a_picture_keeps_its_shape_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.draw(" a\n b\n\x1b")
    assert capsys.readouterr().out == " a\n b\n\\x1b\n"
