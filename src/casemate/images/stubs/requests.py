"""Stands in for requests: build123d imports it for its ordering services, and a room has no network to use them.

Left out with it: urllib3, certifi, idna and charset-normalizer, which it would load into every room.
"""

from __future__ import annotations

from typing import Any, NoReturn


class RequestException(OSError):
    """Root of the exceptions that callers of requests catch."""


class ConnectionError(RequestException):
    """There is no network in this room."""


def _refuse(*_: Any, **__: Any) -> NoReturn:
    raise ConnectionError("there is no network in this room")


get = post = put = head = request = _refuse
