"""A process of a sandbox that was taken over: at one place it does the acts of a case, then goes on as it should.

A copy of this file stands in the room as launcher/hostile.py, and the launcher's own code calls it at the places of
peers.EDITS. The case comes behind the filter of the walls, "FILTER#CASE" in base64, since a message has no other room
for it: {"place": P, "acts": [ACT]}; an act is {"do": "send", "text": T, "with": [KIND], "times": N}, or {"do": W} with
W one of exit, stop, shut, write (to the guest's standard output, without end). In a text (latin-1) {id} is the
sandbox's own name. What cannot be done where it stands is left out.
"""

from __future__ import annotations

import array
import base64
import contextlib
import fcntl
import json
import os
import select
import signal
import socket
import struct
from typing import Any

from . import spec

SO_PEERPIDFD = 77
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
LINGER = 60
_case: dict[str, Any] = {}
_kept: list[socket.socket] = []


def begin(walls: spec.Walls) -> None:
    """Learn the case of this sandbox."""
    global _case
    text = walls.seccomp.partition("#")[2]
    _case = json.loads(base64.b64decode(text)) if text else {}


def act(place: str, channel: spec.Channel, name: str, held: dict[str, int] | None = None) -> None:
    """Do what the case says, if this is its place."""
    if _case.get("place") != place:
        return
    for step in _case["acts"]:
        with contextlib.suppress(OSError, ValueError, AttributeError):
            _do(step, channel, name, held or {})


def _do(step: dict[str, Any], channel: spec.Channel, name: str, held: dict[str, int]) -> None:
    if step["do"] == "exit":
        os._exit(1)
    elif step["do"] == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif step["do"] == "shut":
        channel.sock.shutdown(socket.SHUT_RDWR)
    elif step["do"] == "write" and "stdout" in held and os.fork() == 0:
        while True:
            os.write(held["stdout"], bytes(1 << 16))
    elif step["do"] == "send":
        data = step["text"].replace("{id}", name).encode("latin-1", "replace")
        for _ in range(step["times"]):
            select.select([], [channel.sock], [], 0.2)
            _send(channel.sock, data, step["with"], held)


def _send(sock: socket.socket, data: bytes, kinds: list[str], held: dict[str, int]) -> None:
    made = [fd for kind in kinds if (fd := _descriptor(kind, sock, held)) is not None]
    try:
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", made))] if made else []
        sock.sendmsg([data], rights, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
    finally:
        for fd in made:
            os.close(fd)  # so that the receiver has the last one


def _descriptor(kind: str, sock: socket.socket, held: dict[str, int]) -> int | None:
    with contextlib.suppress(OSError, ValueError, AttributeError):
        if kind in ("init", "exec", "tree"):
            return os.dup(held[kind]) if kind in held else None
        if kind == "peer":  # whoever made the channel: the keeper (unix(7), SO_PEERPIDFD)
            return struct.unpack("i", sock.getsockopt(socket.SOL_SOCKET, SO_PEERPIDFD, 4))[0]
        if kind == "self":
            return os.pidfd_open(os.getpid())
        if kind == "dead":
            pid = os.fork()
            if pid == 0:
                os._exit(0)
            fd = os.pidfd_open(pid)
            os.waitpid(pid, 0)
            return fd
        if kind == "channel":
            return os.dup(sock.fileno())
        if kind == "pipe":
            fd, other = os.pipe()
            os.close(other)
            return fd
        if kind == "linger":
            return _lingering()
        if kind == "hidden":
            return _hidden(_lingering())
        return os.open({"null": "/dev/null", "root": "/"}[kind], os.O_RDONLY)
    return None


def _lingering() -> int:
    """A TCP socket with bytes that nobody takes: closing the last descriptor of it takes LINGER seconds (socket(7))."""
    with socket.socket() as plain:
        request = struct.pack("16sh", b"lo", IFF_UP)
        fcntl.ioctl(plain, SIOCSIFFLAGS, request)
    server = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(server.getsockname())
    _kept.extend([server, server.accept()[0]])
    client.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while client.send(bytes(1 << 16)):
            pass
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, LINGER))
    return client.detach()


def _hidden(fd: int) -> int:
    """A Unix socket in whose queue a descriptor waits."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        theirs.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
    os.close(fd)
    return ours.detach()
