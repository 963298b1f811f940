"""One packet of the trusted base's wire: a WireError, or a value that is exactly its class and survives a round trip.

Then the same bytes through a real socket, with descriptors that nobody asked for: none may stay open.
"""

from __future__ import annotations

import array
import copy
import json
import os
import socket
import types
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st
from launcher.examples import MESSAGES

from casemate.launcher import spec

COUNTS = (0, 1, 3, spec.MAX_DESCRIPTORS, 253)
"""Descriptors to send along; the last is the kernel's own bound (SCM_MAX_FD)."""


def check(data: bytes) -> str:
    """Decode a packet, alone and through a channel."""
    data = data[: spec.MAX_MESSAGE]
    _through_a_channel(data)
    try:
        message = spec.decode(data)
    except spec.WireError:
        return "refused"
    hash(message)  # no list and no dictionary anywhere in it
    _exact(message, type(message))
    if len(json.dumps(json.loads(data), separators=(",", ":"))) > spec.MAX_MESSAGE:
        return "too long"  # to be sent on, with its escapes
    assert spec.decode(spec.encode(message)) == message
    return message.kind


def _exact(value: Any, kind: Any) -> None:
    """The value has the very type that its field is annotated with."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        assert value is None or any(type(value) is argument for argument in arguments)
    elif origin is tuple:
        assert type(value) is tuple
        kinds = arguments[:1] * len(value) if arguments[-1] is Ellipsis else arguments
        for item, inner in zip(value, kinds, strict=True):
            _exact(item, inner)
    else:
        assert type(value) is kind, (value, kind)
        if is_dataclass(kind):
            hints = get_type_hints(kind)
            for field in fields(kind):
                _exact(getattr(value, field.name), hints[field.name])


def _through_a_channel(data: bytes) -> None:
    ours, theirs = spec.pair()
    ours.ask_sender()
    with ours.sock, theirs.sock:
        before = len(os.listdir("/proc/self/fd"))
        rights = array.array("i", [0] * COUNTS[len(data) % len(COUNTS)])
        theirs.sock.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)] if rights else [])
        try:
            received = ours.receive()
        except spec.WireError:
            received = None
        else:
            assert (received is None) == (not data)
        if received is not None:
            assert len(received[1]) == len(rights) <= spec.MAX_DESCRIPTORS
            spec.close_all(received[1])
        assert len(os.listdir("/proc/self/fd")) == before


# --- cases ------------------------------------------------------------------------------------------------------------

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from([1 << 63, -(1 << 64), 10**400, 1e308, 5e-324, "\ud800", "x" * 5000, "cad", ""]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def members(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every member of every object and list."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from members(item, (*path, key))


def at(value: Any, path: tuple[Any, ...]) -> Any:
    """What is there."""
    for step in path:
        value = value[step]
    return value


def damage(draw: st.DrawFn, value: Any) -> None:
    """Change, take out, put in or double one member, in place."""
    paths = list(members(value))
    if not paths:
        return
    path = draw(st.sampled_from(paths))
    holder, key = at(value, path[:-1]), path[-1]
    how = draw(st.integers(0, 4))
    if how == 0:
        del holder[key]
    elif how == 1 and isinstance(holder, dict):
        holder[draw(st.sampled_from(["id", "kind", "layers", "surplus", "\0"]) | st.text(max_size=4))] = draw(VALUES)
    elif how == 2:
        holder[key] = copy.deepcopy(at(value, draw(st.sampled_from(paths))))
    elif how == 3 and isinstance(holder, list):
        holder += [copy.deepcopy(holder[key])] * draw(st.sampled_from([1, 2, 100]))
    else:
        holder[key] = draw(VALUES)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A message of some kind with damage."""
    value = json.loads(spec.encode(draw(st.sampled_from(MESSAGES))))
    for _ in range(draw(st.integers(0, 4))):
        damage(draw, value)
    try:
        text = json.dumps(value, ensure_ascii=draw(st.booleans()))
    except RecursionError:
        text = "{"
    data = text.encode(draw(st.sampled_from(["utf-8", "utf-8", "utf-16", "utf-32-be"])), "surrogatepass")
    how = draw(st.integers(0, 5))
    if how == 0:
        return data[: draw(st.integers(0, len(data)))]
    if how == 1:
        place = draw(st.integers(0, len(data)))
        return data[:place] + draw(st.binary(max_size=4)) + data[place:]
    return data


STARTS = (b"", b"[", b'{"kind":"cancel","id":', b'{"kind":"standing","id":"x","layers":', b'{"kind":')
PIECES = (b"[", b"[]", b"[],", b'{"a":', b"{},", b'"",', b"1", b"1,", b"-", b"1e9,", b" ", b"\\", b'"', b"\xff")


@st.composite
def long(draw: st.DrawFn) -> bytes:
    """A packet as long as one can be, of one piece many times."""
    start = draw(st.sampled_from(STARTS))
    piece = draw(st.sampled_from(PIECES) | st.binary(min_size=1, max_size=6))
    return (start + piece * (spec.MAX_MESSAGE // len(piece)))[: spec.MAX_MESSAGE]


PACKETS = st.one_of(st.binary(max_size=300), damaged(), damaged(), damaged(), long())


def seeds() -> list[bytes]:
    """One message of each kind."""
    return [spec.encode(message) for message in MESSAGES]
