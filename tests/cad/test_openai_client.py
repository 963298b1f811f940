"""The client of model servers against a server on loopback that is slow, fails, breaks off, or says too much."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from casemate.cad import Message, ModelError
from casemate.cad.openai_client import ChatCompletions
from casemate.control.deadline import Deadline

SERVER = Path(__file__).parents[2] / "examples" / "generate" / "server.py"
CODE = "```python\nimport cadquery as cq\nresult = cq.Workplane().box(1, 2, 3)\n```\n"
ASKED = (Message("system", "You write parts."), Message("user", "a box"))


@contextlib.contextmanager
def served(directory: Path, *replies: Any) -> Iterator[str]:
    """The address of a server that answers "a box" with these."""
    file = directory / "exchanges.json"
    file.write_text(json.dumps([{"request": "a box", "replies": list(replies)}]), "utf-8")
    with subprocess.Popen([sys.executable, str(SERVER), str(file)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def ask(url: str, seconds: float = 30.0, **options: Any) -> Any:
    return ChatCompletions(url, "recorded", **options)(ASKED, Deadline.after(seconds))


def test_a_reply_is_heard_with_its_tokens(tmp_path: Path) -> None:
    with served(tmp_path, CODE) as url:
        reply = ask(url, temperature=0.2, seed=7, most_tokens=500)
    assert (reply.text, reply.finish, reply.model) == (CODE, "stop", "recorded")
    assert (reply.prompt_tokens, reply.completion_tokens) == (100, -(-len(CODE) // 24))


def test_a_server_that_fails_is_asked_again(tmp_path: Path) -> None:
    with served(tmp_path, {"status": 500}, {"status": 503}, CODE) as url:
        assert ask(url).text == CODE


def test_a_server_that_goes_on_failing_is_an_error(tmp_path: Path) -> None:
    with served(tmp_path, {"status": 500}) as url, pytest.raises(ModelError, match="status 500") as caught:
        ask(url, retries=1)
    assert (caught.value.expired, caught.value.permanent) == (False, False)


def test_what_no_retry_can_help_is_permanent(tmp_path: Path) -> None:
    with served(tmp_path, {"status": 401}) as url, pytest.raises(ModelError, match="status 401") as caught:
        ask(url)
    assert caught.value.permanent


def test_a_slow_server_is_left_at_the_deadline(tmp_path: Path) -> None:
    began = time.monotonic()
    with served(tmp_path, {"delay": 60, "text": CODE}) as url, pytest.raises(ModelError) as caught:
        ask(url, 1.5)
    assert caught.value.expired
    assert time.monotonic() - began < 20


def test_a_stream_that_breaks_off_is_a_reply_that_is_cut(tmp_path: Path) -> None:
    with served(tmp_path, {"text": CODE, "cut": True}) as url:
        reply = ask(url)
    assert (reply.text, reply.finish) == (CODE, "cut")


def test_ten_megabytes_are_not_taken(tmp_path: Path) -> None:
    with served(tmp_path, {"bytes": 10 << 20}) as url, pytest.raises(ModelError, match="more than"):
        ask(url, retries=0)


@pytest.mark.parametrize("answer", [{"weather": "fine"}, [1, 2], "text", {"choices": "none"}, None])
def test_somebody_elses_json_is_no_reply(answer: Any, tmp_path: Path) -> None:
    with served(tmp_path, {"json": answer}) as url, pytest.raises(ModelError):
        ask(url, retries=0)


def test_nobody_there_is_an_error() -> None:
    with pytest.raises(ModelError, match="cannot be reached"):
        ask("http://127.0.0.1:9/v1", retries=0)


def test_the_key_is_shown_nowhere(tmp_path: Path) -> None:
    assert "hunter2" not in repr(ChatCompletions("http://127.0.0.1:9/v1", "m", "hunter2"))
    with pytest.raises(ModelError) as caught:
        ask("http://127.0.0.1:9/v1", key="hunter2", retries=0)
    assert "hunter2" not in str(caught.value)
