"""What writes scripts: any callable from a conversation to a reply, within a deadline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from casemate.control.deadline import Deadline

NO_KEY = "none"
"""Sent as the key where a server needs none."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation, with the roles of the chat-completions API."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model wrote. Tokens are the server's own count, None where it gives none."""

    text: str
    finish: str = "stop"
    """As the server says (`stop`, `length`, …), or `cut` for a stream that broke off or grew too long."""
    model: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


def plain(text: str) -> str:
    """The text as UTF-8 can hold it: lone surrogates, of a server's JSON or of an argument, as escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


class ModelError(Exception):
    """The model gave no reply; `expired` if the deadline passed first, `permanent` if asking again cannot help."""

    def __init__(self, message: str, *, expired: bool = False, permanent: bool = False) -> None:
        super().__init__(message)
        self.expired = expired
        self.permanent = permanent


class Generator(Protocol):
    """Writes the next message of a conversation; raises ModelError, and returns or raises before the deadline.

    Each call is in a thread of its own. One that goes on after the deadline is left alone, and its reply unread.
    """

    def __call__(self, messages: tuple[Message, ...], deadline: Deadline) -> Reply:
        """One reply."""
        ...
