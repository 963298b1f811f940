"""The client of model servers against a server on loopback that is slow, fails, breaks off, or says too much."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

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


@pytest.mark.parametrize("key", ["hunter2\nhunter3", "hunter2 ", "schlüssel", "hunter2\x00", ""])
def test_a_key_that_no_header_can_hold_is_refused_unseen(key: str) -> None:
    with pytest.raises(ValueError, match="key is empty, or has") as caught:
        ChatCompletions("http://127.0.0.1:9/v1", "m", key)
    assert "hunter" not in str(caught.value)


@pytest.mark.parametrize("options", [{"temperature": float("nan")}, {"temperature": -1.0}, {"most_tokens": 0}])
def test_numbers_that_no_server_takes_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"or more|at least"):
        ChatCompletions("http://127.0.0.1:9/v1", "m", **options)


class Asked(BaseHTTPRequestHandler):
    """Refuses, and tells what it was sent."""

    sent: ClassVar[list[dict[str, str]]] = []
    status = 404

    def do_POST(self) -> None:
        """One refusal, which names the key."""
        self.sent.append({name.lower(): value for name, value in self.headers.items()})
        told = {"message": f"no model m for {self.headers['Authorization']}\n" + "x" * 5000}
        data = json.dumps({"error": told}).encode()
        self.send_response(self.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@contextlib.contextmanager
def refusing(status: int) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """The address of a server that refuses with this status, and the headers that it gets."""
    handler = type("Refusing", (Asked,), {"sent": [], "status": status})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1", handler.sent
        finally:
            server.shutdown()


@pytest.mark.parametrize("name", ["OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY", "OPENAI_API_KEY"])
def test_nothing_of_the_environment_is_sent(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "hunter2")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Secret: hunter2")
    with refusing(404) as (url, sent), pytest.raises(ModelError):
        ask(url, key="sk-given")
    assert [one["authorization"] for one in sent] == ["Bearer sk-given"]
    assert "hunter2" not in str(sent)


def test_what_the_server_says_is_told_without_the_key() -> None:
    with refusing(404) as (url, _), pytest.raises(ModelError) as caught:
        ask(url, key="hunter2")
    told = str(caught.value)
    assert told.startswith("the server answered with status 404: no model m for Bearer … xxx")
    assert len(told) < 300


@pytest.mark.parametrize("status", [401, 403])
def test_where_it_is_about_the_key_nothing_is_told(status: int) -> None:
    with refusing(status) as (url, _), pytest.raises(ModelError) as caught:
        ask(url, key="hunter2")
    assert str(caught.value) == f"the server answered with status {status}"


def test_the_key_is_shown_nowhere(tmp_path: Path) -> None:
    assert "hunter2" not in repr(ChatCompletions("http://127.0.0.1:9/v1", "m", "hunter2"))
    with pytest.raises(ModelError) as caught:
        ask("http://127.0.0.1:9/v1", key="hunter2", retries=0)
    assert "hunter2" not in str(caught.value)
