"""What the processes of the trusted base say to one another: frozen values, and one strict codec for all of them.

A message is one packet of a SOCK_SEQPACKET socket: a JSON object whose `kind` names one of the classes of `messages`
and whose other members are exactly that class's fields; descriptors ride along as SCM_RIGHTS (unix(7)). Anything else
(a missing or unknown member, a wrong type, a packet that was cut) raises WireError: a peer inside a wall may have
been taken over.

Units: seconds (`deadline` is CLOCK_MONOTONIC), bytes.
"""

from __future__ import annotations

import array
import functools
import json
import math
import socket
import types
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, Union, cast, get_args, get_origin, get_type_hints

from . import descriptors
from .descriptors import close_all
from .messages import (
    CODE_ROOT,
    GUEST_UID,
    Bounds,
    Cancel,
    Demand,
    Enclosed,
    Ended,
    Exited,
    Fault,
    Guest,
    GuestJob,
    Inputs,
    Job,
    Layer,
    Locked,
    Outer,
    Placed,
    Prefault,
    Prefaulted,
    Ready,
    Retire,
    Room,
    Run,
    Sandbox,
    Standing,
    Started,
    Template,
    Walls,
    Warm,
)

__all__ = [
    "Placed",
    "Job",
    "Inputs",
    "Bounds",
    "CODE_ROOT",
    "Cancel",
    "Demand",
    "Channel",
    "Enclosed",
    "Ended",
    "Exited",
    "Fault",
    "GUEST_UID",
    "Guest",
    "GuestJob",
    "Layer",
    "Locked",
    "MAX_DESCRIPTORS",
    "MAX_MESSAGE",
    "Message",
    "Outer",
    "Ready",
    "Retire",
    "Prefault",
    "Prefaulted",
    "Room",
    "Run",
    "Sandbox",
    "Standing",
    "Started",
    "Template",
    "Walls",
    "Warm",
    "WireError",
    "adopt",
    "close_all",
    "decode",
    "encode",
    "pair",
]

MAX_MESSAGE = 192 * 1024
MAX_DESCRIPTORS = 128


class WireError(ValueError):
    """A message that is not what its kind says."""


Message = (
    Room
    | Enclosed
    | Run
    | Demand
    | Retire
    | Prefault
    | Prefaulted
    | Cancel
    | Ready
    | Started
    | Ended
    | Fault
    | Sandbox
    | Inputs
    | Placed
    | Standing
    | Guest
    | Job
    | Locked
    | Exited
    | Warm
)
_KINDS: dict[str, Any] = {cls.kind: cls for cls in get_args(Message)}


@functools.cache
def _names(cls: Any) -> tuple[str, ...]:
    return tuple(f.name for f in fields(cls))


def _plain(value: object) -> object:
    cls = type(value)
    if cls in (str, int, float, bool, type(None)):
        return value
    if cls is tuple:
        return [_plain(item) for item in cast(tuple[object, ...], value)]
    return {name: _plain(getattr(value, name)) for name in _names(cast(Any, cls))}


_Build = Callable[[object], Any]
"""From what JSON gave to a value of one type; raises WireError, with the path to what is wrong before the colon."""


@functools.cache
def _builder(kind: Any) -> _Build:
    """Made once for each type of a field, because a message has hundreds of values."""
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        build = _builder(next(k for k in args if k is not type(None)))
        return lambda value: None if value is None else build(value)
    if origin is tuple:
        return _tuple(args)
    if is_dataclass(kind):
        return _object(kind)
    return _float if kind is float else _exactly(kind)


def _tuple(args: tuple[Any, ...]) -> _Build:
    if len(args) == 2 and args[1] is Ellipsis:
        item = _builder(args[0])
        return lambda value: tuple(map(item, _list(value)))
    items = tuple(map(_builder, args))

    def build(value: object) -> Any:
        found = _list(value)
        if len(found) != len(items):
            raise WireError(f": {len(found)} items")
        return tuple(each(one) for each, one in zip(items, found, strict=False))

    return build


def _list(value: object) -> list[object]:
    if type(value) is not list:
        raise WireError(": not a list")
    return value


def _object(cls: Any) -> _Build:
    hints = get_type_hints(cls)
    members = [(name, _builder(hints[name])) for name in _names(cls)]
    names = frozenset(_names(cls))

    def build(value: object) -> Any:
        if type(value) is not dict:
            raise WireError(": not an object")
        if value.keys() != names:
            raise WireError(f": members {sorted(value.keys() ^ names)}")
        built = []
        for name, member in members:
            try:
                built.append(member(value[name]))
            except WireError as error:
                raise WireError(f".{name}{error}") from None
        return cls(*built)

    return build


def _float(value: object) -> float:
    number = float(value) if type(value) is int else value
    if type(number) is not float or not math.isfinite(number):
        raise WireError(f": {value!r:.40} is no finite number")
    return number


def _exactly(kind: type) -> _Build:
    def build(value: object) -> Any:
        if type(value) is not kind:
            raise WireError(f": {type(value).__name__}")
        return value

    return build


def encode(message: Message) -> bytes:
    """One packet's bytes; raises WireError."""
    plain = _plain(message)
    assert isinstance(plain, dict)
    try:
        data = json.dumps({"kind": message.kind, **plain}, allow_nan=False, separators=(",", ":")).encode()
    except ValueError as error:
        raise WireError(f"{message.kind}: {error}") from None
    if len(data) > MAX_MESSAGE:
        raise WireError(f"{message.kind}: {len(data)} bytes")
    return data


def decode(data: bytes) -> Message:
    """The message in a packet; raises WireError and nothing else."""
    try:
        plain = json.loads(data)
        if not isinstance(plain, dict):
            raise WireError("not an object")
        cls = _KINDS[plain.pop("kind")]
        try:
            message: Message = _builder(cls)(plain)
        except WireError as error:
            raise WireError(f"{cls.kind}{error}") from None
    except WireError:
        raise
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise WireError(f"{type(error).__name__}: {error}") from None
    return message


class CutError(WireError):
    """Descriptors that came with `message` were lost: this process may have no more (MSG_CTRUNC, recvmsg(2))."""

    def __init__(self, message: Message) -> None:
        super().__init__(f"{message.kind}: descriptors were cut")
        self.message = message


class Channel:
    """One end of a SOCK_SEQPACKET pair; a peer that is gone reads as None."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self._extra = 0
        self._discard = descriptors.discard
        self.sender = 0
        """Process id of the last message's sender as seen from here, once `ask_sender` was called; from the kernel."""

    def trust(self) -> None:
        """The peer is ours: what it sent may be closed by this process, which may have threads and no fork to spare."""
        self._discard = close_all

    def ask_sender(self) -> None:
        """Have the kernel say who sends (SO_PASSCRED, unix(7)); call it before the peer can send."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._extra = socket.CMSG_SPACE(descriptors.UCRED.size)

    def fileno(self) -> int:
        """For poll(2)."""
        return self.sock.fileno()

    def close(self) -> None:
        """Close this end."""
        self.sock.close()

    def end(self) -> None:
        """Close the only copy of this end, on which a peer may have left what it is costly to let go of."""
        descriptors.end(self.sock)

    def send(self, message: Message, rights: tuple[int, ...] = ()) -> None:
        """Send one packet, with descriptors; raises OSError (BlockingIOError on a full non-blocking socket)."""
        ancillary = []
        if rights:
            ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", rights))]
        self.sock.sendmsg([encode(message)], ancillary, socket.MSG_NOSIGNAL)

    def receive(self) -> tuple[Message, list[int]] | None:
        """The next message and its descriptors (close-on-exec, the caller's to close), or None at end of file.

        Raises OSError, WireError, and CutError for a message of which this process could not take every descriptor.
        """
        space = descriptors.SPACE + self._extra
        data, ancillary, flags, _ = self.sock.recvmsg(MAX_MESSAGE, space, socket.MSG_CMSG_CLOEXEC)
        for level, kind, payload in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS:
                self.sender = descriptors.UCRED.unpack(payload)[0]
        received = descriptors.rights(ancillary)
        if not data:
            self._discard(received)
            return None
        try:
            if flags & socket.MSG_TRUNC or len(received) > MAX_DESCRIPTORS:
                raise WireError("a packet was cut")
            message = decode(data)
            if flags & socket.MSG_CTRUNC:
                raise CutError(message)
            return message, received
        except WireError:
            self._discard(received)
            raise


def pair() -> tuple[Channel, Channel]:
    """Both ends of a new channel."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC)
    return Channel(ours), Channel(theirs)


def adopt(fd: int) -> Channel:
    """A channel over an inherited descriptor."""
    return Channel(socket.socket(fileno=fd))
