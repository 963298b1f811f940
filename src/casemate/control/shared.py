"""The one Host of a process that holds none of its own: made when it is first wanted, closed with the process."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Mapping

from casemate.control.deadline import Deadline
from casemate.control.host import Host
from casemate.model import RunResult

_shared: tuple[int, Host] | None = None
_lock = threading.Lock()


def host() -> Host:
    """The one of this process; a forked child gets its own."""
    global _shared
    with _lock:
        if _shared is None or _shared[0] != os.getpid():
            _shared = (os.getpid(), Host())
        return _shared[1]


@atexit.register
def _close() -> None:
    if _shared is not None and _shared[0] == os.getpid():
        _shared[1].close()


def _forget() -> None:
    """In a forked child: the parent's Host is not ours, and its lock may be held by a thread that is not here."""
    global _shared, _lock
    _shared, _lock = None, threading.Lock()


os.register_at_fork(after_in_child=_forget)


def run(
    source: str | bytes, profile: str = "cad", inputs: Mapping[str, bytes] | None = None,
    deadline: Deadline | float | None = None, *, limits: Mapping[str, float] | None = None,
) -> RunResult:  # fmt: skip
    """`Host.run` on the Host that this process shares."""
    return host().run(source, profile, inputs, deadline, limits=limits)


async def arun(
    source: str | bytes, profile: str = "cad", inputs: Mapping[str, bytes] | None = None,
    deadline: Deadline | float | None = None, *, limits: Mapping[str, float] | None = None,
) -> RunResult:  # fmt: skip
    """`Host.arun` on the Host that this process shares."""
    return await host().arun(source, profile, inputs, deadline, limits=limits)
