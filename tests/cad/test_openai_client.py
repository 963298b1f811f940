"""The client of model servers against a server on loopback that is slow, fails, breaks off, or says too much."""

from __future__ import annotations

import contextlib
import gzip
import json
import socket
import socketserver
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from casemate.cad import Message, ModelError, openai_client
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


def test_a_server_that_cannot_stream_is_heard(tmp_path: Path) -> None:
    message = {"role": "assistant", "content": CODE}
    whole = {
        "id": "1", "object": "chat.completion", "created": 0, "model": "whole",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 9, "total_tokens": 16},
    }  # fmt: skip
    with served(tmp_path, {"json": whole}) as url:
        reply = ask(url)
    assert (reply.text, reply.finish, reply.model) == (CODE, "stop", "whole")
    assert (reply.prompt_tokens, reply.completion_tokens) == (7, 9)


def test_what_it_says_of_itself_holds_no_secret() -> None:
    url = "http://user:hunter2@127.0.0.1:9/v1?key=hunter2"
    settings = ChatCompletions(url, "m", "hunter2hunter2hunter2", temperature=0.5, seed=3).settings
    assert settings == {
        "server": "http://127.0.0.1:9/v1", "model": "m", "temperature": 0.5, "seed": 3, "max_tokens": None
    }  # fmt: skip


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


@contextlib.contextmanager
def raw(answer: bytes) -> Iterator[str]:
    """The address of a server that says these bytes to everybody, and ends."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            length = 0
            while (line := self.rfile.readline()).strip():
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            self.rfile.read(length)
            with contextlib.suppress(OSError):
                self.wfile.write(answer)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        server.shutdown()


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n"


def said(text: str) -> bytes:
    return b"data: " + json.dumps({"choices": [{"delta": {"content": text}}]}).encode() + b"\n\ndata: [DONE]\n\n"


def test_what_is_compressed_is_not_unpacked() -> None:
    """8 MiB on the wire are 8 GiB unpacked."""
    bomb = gzip.compress(b"data: " + bytes(50 << 20))
    with raw(HEAD + b"Content-Encoding: gzip\r\n\r\n" + bomb) as url:
        tracemalloc.start()
        with pytest.raises(ModelError, match="compressed"):
            ask(url, retries=0)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert most < 32 << 20


def test_twin_the_same_bytes_uncompressed_are_bounded_as_they_come() -> None:
    with (
        raw(HEAD + b"\r\ndata: " + bytes(openai_client.BODY_BYTES)) as url,
        pytest.raises(ModelError, match="more than"),
    ):
        ask(url, retries=0)


@pytest.mark.parametrize("body", [b"[" * 200_000, b"null", b"5", b'{"choices": [null]}', b'{"error": [1]}', b"\xff"])
def test_whatever_the_json_is_it_is_an_answer_or_an_error_of_the_model(body: bytes) -> None:
    with raw(HEAD + b"\r\ndata: " + body + b"\n\n") as url, pytest.raises(ModelError):
        ask(url, retries=0)


@pytest.mark.parametrize("url", ["http://[::1", "http://127.0.0.1:99999/v1", "http://", "http://\ud800/v1"])
def test_an_address_that_is_none_is_an_error_of_the_model(url: str) -> None:
    with pytest.raises(ModelError):
        ask(url, retries=0)


KEY = "sk-0123456789abcdef"


@pytest.mark.parametrize("key", [f"{KEY}\n{KEY}", f"{KEY}\0", f" {KEY}", f"{KEY}é", ""])
def test_a_key_that_no_header_can_carry_is_not_told_in_the_error(key: str) -> None:
    with pytest.raises(ValueError, match="header") as caught:
        ChatCompletions("http://127.0.0.1:9/v1", "m", key)
    assert "0123" not in str(caught.value)


def test_a_server_that_says_the_key_is_not_listened_to() -> None:
    with raw(HEAD + b"\r\n" + said(f"```python\nkey = '{KEY}'\n```")) as url:
        with pytest.raises(ModelError, match="holds the key") as caught:
            ask(url, key=KEY, retries=0)
        assert KEY not in str(caught.value)
        assert KEY in ask(url, key="EMPTY", retries=0).text


def test_a_redirect_is_not_followed() -> None:
    with (
        raw(HEAD + b"\r\n" + said("stolen")) as other,
        raw(f"HTTP/1.1 307 X\r\nLocation: {other}\r\nContent-Length: 0\r\n\r\n".encode()) as url,
        pytest.raises(ModelError, match="307"),
    ):
        ask(url, key=KEY, retries=0)


def test_a_resolver_that_hangs_does_not_outlive_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()

    def hang(*_: Any, **__: Any) -> Any:
        over.wait(60)
        raise OSError

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    try:
        with pytest.raises(ModelError) as caught:
            ask("http://model.invalid/v1", 0.2, retries=0)
        assert caught.value.expired
        assert not over.is_set()
    finally:
        over.set()
