"""The channel between caller and keeper with garbage on it, in both directions. Used inside the harness only."""

from __future__ import annotations

import array
import contextlib
import json
import os
import shutil
import socket
import tempfile
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Any

from launcher.examples import MESSAGES
from processes import descendants, fields, wait_until

from casemate.errors import SandboxFault
from casemate.launcher import cgroups, messages, spec
from casemate.runtime import connection, process
from casemate.runtime.connection import Connection, Finished

BOUND = 30.0
SILENCE = 0.3
"""Seconds without a word from the keeper after which a caller goes."""
OPENS = {"root": "/", "tree": "/tmp"}
ROOM = next(message for message in MESSAGES if isinstance(message, messages.Room))
RUN = next(message for message in MESSAGES if isinstance(message, messages.Run))

# In place of the keeper: waits for what is asked of it, sends what the case says, and ends.
KEEPER = """
import array, json, os, socket, sys

def main(arguments):
    channel = socket.socket(fileno=int(arguments[0]))
    for _ in range(2):
        channel.recv(1 << 20)
    with open(arguments[2], encoding="utf-8") as file:
        sends = json.load(file)
    for text, count, times in sends:
        rights = array.array("i", [0] * count)
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)] if count else []
        for _ in range(times):
            try:
                channel.sendmsg([text.encode("latin-1")], ancillary)
            except OSError:
                return 0
    return 0
"""


class Wrong(Exception):
    """What must not come of a hostile caller or keeper."""


def _count() -> int:
    return len(os.listdir("/proc/self/fd"))


# --- caller → keeper --------------------------------------------------------------------------------------------------


def hostile_caller(image: str, case: dict[str, Any]) -> str:
    """A keeper of its own whose caller sends what the case says and goes: it ends in order, and leaves nothing.

    `image` is the root of a real one, for the rooms that are asked for.
    """
    ours, theirs = spec.pair()
    caller = os.pidfd_open(os.getpid())
    with tempfile.TemporaryDirectory() as state:
        os.chmod(state, 0o700)
        arguments = [state, str(connection.PACKAGE), *map(str, connection.UID_RANGE), "1,60.0,100000000"]
        started = process.start_keeper(connection.PACKAGE, (theirs.fileno(), caller), arguments)
        theirs.close()
        os.close(caller)
        heard = []
        try:
            for step in case["acts"]:
                if step["do"] != "send":
                    break
                text = step["text"].replace("{id}", "r1").replace("/srv/image", image)
                text = text.replace('"a:b"', '"casemate.guest.light:warm"').replace('"a:c"', '""')
                for _ in range(step["times"]):
                    _send(ours.sock, text.encode("latin-1", "replace"), step["with"])
            heard = _listen(ours)
            below = descendants(started.pid)
            made = groups(started.pid)
        finally:
            ours.close()
        if not process.wait(started, BOUND):
            raise Wrong("the keeper did not end")
        if started.returncode != 0:
            raise Wrong(f"the keeper ended with status {started.returncode}")
        if left := [name for name in os.listdir(state) if name.startswith("keeper-")]:
            raise Wrong(f"left in the state directory: {left}")
        if not wait_until(lambda: not any(map(fields, below)), 5.0):
            raise Wrong(f"processes that outlive their keeper: {[pid for pid in below if fields(pid)]}")
        if left := [group for group in made if os.path.exists(group)]:
            raise Wrong(f"groups that outlive their keeper: {left}")
    return " ".join(dict.fromkeys(heard)) or "nothing"


def groups(keeper: int) -> tuple[str, ...]:
    """The directories of a keeper's own group, one in each hierarchy."""
    try:
        with open(f"/proc/{keeper}/stat", encoding="ascii") as file:
            began = file.read().rpartition(")")[2].split()[19]
    except OSError:
        return ()
    return cgroups.keeper_directories(cgroups.survey(), f"casemate-{keeper}-{began}")


def _send(sock: socket.socket, data: bytes, kinds: list[str]) -> None:
    made = [os.open(OPENS.get(kind, "/dev/null"), os.O_RDONLY) for kind in kinds]
    with contextlib.suppress(OSError):
        rights = array.array("i", made)
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)] if made else []
        sock.sendmsg([data], ancillary, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
    spec.close_all(made)


def _listen(channel: spec.Channel) -> list[str]:
    """The kinds of what the keeper says until it is silent."""
    heard = []
    channel.sock.settimeout(SILENCE)
    with contextlib.suppress(TimeoutError, ConnectionResetError):
        while (received := channel.receive()) is not None:
            spec.close_all(received[1])
            heard.append(received[0].kind)
    return heard


# --- keeper → caller --------------------------------------------------------------------------------------------------


def hostile_keeper(case: dict[str, Any]) -> str:
    """What a caller's futures come to when the keeper says what the case says, and ends."""
    sends = [
        [step["text"].replace("{id}", RUN.id), len(step["with"]), step["times"]]
        for step in case["acts"]
        if step["do"] == "send"
    ]
    before, package = _count(), connection.PACKAGE
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        shutil.copytree(package / "launcher", top / "launcher", ignore=shutil.ignore_patterns("__pycache__"))
        (top / "launcher" / "keeper.py").write_text(KEEPER, "utf-8")
        (top / "case").write_text(json.dumps(sends), "utf-8")
        connection.PACKAGE = top
        try:
            made = Connection(top / "case")
        finally:
            connection.PACKAGE = package
        futures: list[Future[Any]] = [made.room(ROOM), made.run(RUN, (), lambda: None)]
        if wait(futures, BOUND).not_done:
            raise Wrong("a future that is never done")
        words = [_word(future) for future in futures]
        made.close()
    if made.alive:
        raise Wrong("a keeper that ended is taken for alive")
    if not wait_until(lambda: _count() == before, 5.0):
        raise Wrong(f"{before} descriptors before, {_count()} after")
    return " ".join(words)


def _word(future: Future[Any]) -> str:
    error = future.exception()
    if error is None:
        if isinstance(future.result(), Finished):
            future.result().close()
        return type(future.result()).__name__
    if not isinstance(error, SandboxFault):
        raise Wrong(f"a future failed with {error!r}")
    return "fault"
