"""A `Generator` over any server that speaks the OpenAI chat-completions API.

What a server sends is bounded: `BODY_BYTES`, never compressed, `REPLY_CHARACTERS` of text, and the deadline for all of
it, retries included. Retries with back-off are the client library's.
"""

from __future__ import annotations

import asyncio
import math
import re
import threading
from collections.abc import AsyncIterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx2
import openai
from openai.types.chat import ChatCompletionMessageParam

from casemate.cad.generators import NO_KEY, Message, ModelError, Reply
from casemate.control.deadline import Deadline

BODY_BYTES = 8 << 20
"""Of one response: a token takes a few hundred bytes of a stream."""
REPLY_CHARACTERS = 1 << 18
"""As many as a script may have bytes."""
CONNECT, READ = 10.0, 60.0
"""Seconds for a connection, and between two pieces of a response unless the caller says otherwise."""
_PERMANENT = (
    openai.AuthenticationError, openai.PermissionDeniedError, openai.NotFoundError, openai.BadRequestError,
    openai.UnprocessableEntityError, httpx2.InvalidURL,
)  # fmt: skip


_SENT = frozenset(
    ("host", "accept", "accept-encoding", "connection", "authorization", "content-type", "content-length", "user-agent")
)
"""Headers of a request: the library adds what it finds in the environment (OPENAI_ORG_ID, …), for whatever server."""
_TOLD = 200
"""Characters of a server's own error message."""

GRACE = 1.0
"""Seconds past the deadline after which a thread is left to itself: a resolver that hangs cannot be ended."""
_KEY = re.compile(r"[\x21-\x7e]+")
SECRET = 16
"""Characters from which on a key is taken for a secret, and no placeholder such as EMPTY."""
_EXPIRED = "the model did not answer in the time that was left"
_T = TypeVar("_T")


class _RefusedError(Exception):
    """A body beyond BODY_BYTES, or one that would only be bounded before it is unpacked."""


class _Counted(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = BODY_BYTES
        async for part in self._stream:
            left -= len(part)
            if left < 0:
                raise _RefusedError(f"the server's answer has more than {BODY_BYTES} bytes")
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()


class _Bounded(httpx2.AsyncHTTPTransport):
    """Sends nothing that nobody asked for, and ends a response that does not end itself.

    It takes none that is compressed: a thousandfold fits in there.
    """

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        for name in set(request.headers) - _SENT:
            del request.headers[name]
        response = await super().handle_async_request(request)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
            await response.stream.aclose()
            raise _RefusedError("the server's answer is compressed, although none was asked for")
        response.stream = _Counted(response.stream)
        return response


@dataclass(frozen=True, slots=True)
class ChatCompletions:
    """`base_url` ends in `/v1` as a rule; `key` is sent as the bearer token and shown nowhere.

    `temperature`, `seed` and `most_tokens` are the server's own defaults where they are None; `retries` with back-off
    are made after connection errors, 408, 409, 429 and 5xx.
    """

    base_url: str
    model: str
    key: str = field(default=NO_KEY, repr=False)
    temperature: float | None = None
    seed: int | None = None
    most_tokens: int | None = None
    retries: int = 3
    patience: float = READ
    """Seconds between two pieces of a response."""

    def __post_init__(self) -> None:
        """Raise ValueError for what no server could be asked with."""
        if not self.base_url.startswith(("http://", "https://")):
            raise ValueError(f"the model's address {self.base_url!r} begins with neither http:// nor https://")
        if self.retries < 0 or not self.patience > 0:
            raise ValueError("retries are 0 or more, and patience is more than 0 seconds")
        if self.temperature is not None and not (math.isfinite(self.temperature) and self.temperature >= 0):
            raise ValueError(f"temperature {self.temperature}: 0 or more")
        if self.most_tokens is not None and self.most_tokens < 1:
            raise ValueError(f"{self.most_tokens} tokens of an answer: at least one")
        if not _KEY.fullmatch(self.key):
            raise ValueError(
                "the model's key is empty, or no header can carry it: it has a blank, a line break or no ASCII"
            )

    @property
    def settings(self) -> dict[str, str | int | float | None]:
        """What a record may hold of it: the server without user, password and query; never the key."""
        url = httpx2.URL(self.base_url)
        return {
            "server": f"{url.scheme}://{url.netloc.decode('ascii', 'replace')}{url.path}", "model": self.model,
            "temperature": self.temperature, "seed": self.seed, "max_tokens": self.most_tokens,
        }  # fmt: skip

    def __call__(self, messages: tuple[Message, ...], deadline: Deadline) -> Reply:
        """One reply; what was streamed until the connection broke or the deadline passed is a reply that is `cut`."""
        # In a thread with a loop of its own: the caller may have one already, and a loop can end a read that hangs.
        # A daemon, because a name's resolution can be ended by nobody, and an interrupt must not wait for it.
        answer: Future[Reply] = Future()

        def ask() -> None:
            try:
                answer.set_result(asyncio.run(self._ask(messages, deadline)))
            except BaseException as error:
                answer.set_exception(error)

        threading.Thread(target=ask, name="casemate-model", daemon=True).start()
        try:
            return answer.result(min(max(0.0, deadline.left()) + GRACE, threading.TIMEOUT_MAX))
        except TimeoutError:
            raise ModelError(_EXPIRED, expired=True) from None

    async def _ask(self, messages: tuple[Message, ...], deadline: Deadline) -> Reply:
        heard = _Heard()
        try:
            async with asyncio.timeout(max(0.0, deadline.left())):
                await self._stream(messages, heard)
        except TimeoutError:
            if heard.text:
                return heard.reply("cut")
            raise ModelError(_EXPIRED, expired=True) from None
        except Exception as error:  # what a server may send makes libraries raise anything, RecursionError too
            if heard.text:
                return heard.reply("cut")
            told = _told(error, self.patience)
            if self.key != NO_KEY:
                told = told.replace(self.key, "…")
            raise ModelError(told, permanent=isinstance(error, _PERMANENT)) from error
        if not heard.text:
            raise ModelError("the server's answer holds no text of a chat completion")
        if len(self.key) >= SECRET and self.key in heard.text:
            raise ModelError("the server's answer holds the key, which is kept out of scripts and records")
        return heard.reply()

    async def _stream(self, messages: tuple[Message, ...], heard: _Heard) -> None:
        timeout = httpx2.Timeout(self.patience, connect=CONNECT)
        async with openai.AsyncOpenAI(
            base_url=self.base_url, api_key=self.key, max_retries=self.retries, timeout=timeout,
            http_client=httpx2.AsyncClient(
                transport=_Bounded(), timeout=timeout, follow_redirects=False,
                headers={"Accept-Encoding": "identity"},
            ),
        ) as client:  # fmt: skip
            conversation: list[ChatCompletionMessageParam] = [
                {"role": "system", "content": message.content} if message.role == "system"
                else {"role": "user", "content": message.content} if message.role == "user"
                else {"role": "assistant", "content": message.content}
                for message in messages
            ]  # fmt: skip
            create = client.chat.completions.create
            given = {"temperature": self.temperature, "seed": self.seed, "max_tokens": self.most_tokens}
            asked: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
            asked |= {"model": self.model, "messages": conversation}
            stream = await create(**asked, stream=True, stream_options={"include_usage": True})
            async for chunk in stream:
                if not heard.take(chunk):
                    await stream.close()
                    return
            if not heard.text:  # a server that cannot stream answers in one piece, of which a stream shows nothing
                heard.take(await create(**asked, stream=False))


class _Heard:
    """What has come of a reply so far."""

    def __init__(self) -> None:
        self.text = ""
        self.finish = "cut"
        self.model = ""
        self.prompt_tokens: int | None = None
        self.completion_tokens: int | None = None

    def take(self, chunk: object) -> bool:
        """One more piece; False when there is enough. A server's answer may be anything that is JSON."""
        self.model = _of(chunk, "model", str) or self.model
        usage = getattr(chunk, "usage", None)
        self.prompt_tokens = _of(usage, "prompt_tokens", int) or self.prompt_tokens
        self.completion_tokens = _of(usage, "completion_tokens", int) or self.completion_tokens
        choices = getattr(chunk, "choices", None)
        for choice in choices[:1] if isinstance(choices, list) else ():
            said = getattr(choice, "delta", None) or getattr(choice, "message", None)
            self.text += _of(said, "content", str) or ""
            self.finish = _of(choice, "finish_reason", str) or self.finish
        if len(self.text) > REPLY_CHARACTERS:
            self.text, self.finish = self.text[:REPLY_CHARACTERS], "cut"
            return False
        return True

    def reply(self, finish: str = "") -> Reply:
        return Reply(self.text, finish or self.finish, self.model, self.prompt_tokens, self.completion_tokens)


def _of(value: object, name: str, kind: type[_T]) -> _T | None:
    found = getattr(value, name, None)
    return found if type(found) is kind else None


def _message(error: openai.APIStatusError) -> str:
    """What the server says of it; nothing where it may speak of the key."""
    found = error.body.get("message") if isinstance(error.body, dict) else None
    if not isinstance(found, str) or isinstance(error, (openai.AuthenticationError, openai.PermissionDeniedError)):
        return ""
    flat = " ".join(found[: 4 * _TOLD].split())
    return f": {flat}" if len(flat) <= _TOLD else f": {flat[:_TOLD]} …"


def _told(error: Exception, patience: float) -> str:
    for one in (error, error.__cause__):
        if isinstance(one, _RefusedError):
            return str(one)
    if isinstance(error, openai.APIStatusError):
        return f"the server answered with status {error.status_code}{_message(error)}"
    if isinstance(error, openai.APITimeoutError):
        return f"the server said nothing for {patience:g} s"
    if isinstance(error, openai.APIConnectionError):
        return f"the server cannot be reached: {error.__cause__ or error}"
    return f"the server's answer cannot be understood: {type(error).__name__}"
