"""Sandboxes of a Host that wait for a job, seen from outside, and whether a job was served by one of them."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from processes import descendants, fields, wait_until

from casemate import Host, RunResult
from casemate.control import runs
from casemate.control.host import strongest
from casemate.runtime.rooms import Standing

SETUP = 4
"""The descriptor on which a guest waits for its job, and which it closes before it sees the first byte of that."""
DEPTH = 4
"""Pid namespaces that a guest is in: host, room, sandbox, execution (NSpid, proc_pid_status(5))."""


def waiting(keeper: int | None) -> dict[str, int]:
    """Guests below a keeper that sleep until they are given a job: network namespace → host pid."""
    found = {}
    for pid in descendants(keeper) if keeper is not None else ():
        if len(fields(pid).get("NSpid", "").split()) < DEPTH:
            continue
        with contextlib.suppress(OSError):
            # What a process is blocked in, and the first argument of that: proc_pid_syscall(5).
            call = Path(f"/proc/{pid}/syscall").read_text("ascii").split()
            if len(call) > 1 and int(call[1], 16) == SETUP:
                found[os.readlink(f"/proc/{pid}/ns/net").strip("net:[]")] = pid
    return found


def open_request(host: Host, source: bytes, template: str = "light", profile: str = "strongest") -> runs.Request:
    """A job with the gate off."""
    name = strongest(host) if profile == "strongest" else profile
    request = host.request(source, name, None, None, "local", "local", gate=False)
    return dataclasses.replace(request, template=template)


def standing(host: Host, request: runs.Request) -> Standing:
    """Its room with a warm template."""
    found = host.ground(request)
    found.release()
    return found


class Ready:
    """Sandboxes that waited at one moment. It holds their namespaces, so that no later one can have their numbers."""

    def __init__(self, pids: Mapping[str, int]) -> None:
        self.pids = dict(pids)
        """Network namespace → host pid of the guest."""
        self._held = [os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC) for pid in pids.values()]

    def served(self, result: RunResult) -> bool:
        """Whether a job's guest was one of them."""
        walls = next(layer.detail for layer in result.enforcement.layers if layer.name == "guest.walls")
        return dict(word.split(":") for word in walls.split())["net"] in self.pids

    def close(self) -> None:
        """Let go of the namespaces."""
        while self._held:
            os.close(self._held.pop())


@contextlib.contextmanager
def prepared(host: Host, request: runs.Request, count: int) -> Iterator[Ready]:
    """Have sandboxes for such a request made ahead, and wait until so many wait."""
    runs.demand(request, standing(host, request))
    found: dict[str, int] = {}

    def enough() -> bool:
        found.clear()
        found.update(waiting(host.keeper_pid))
        return len(found) >= count

    assert wait_until(enough, 30.0), f"{len(found)} of {count} sandboxes wait"
    with contextlib.closing(Ready(found)) as ready:
        yield ready


def run(host: Host, request: runs.Request) -> RunResult:
    """Run a resolved request."""
    return host.execute(request, runs.Cancellation(), lambda _: None)
