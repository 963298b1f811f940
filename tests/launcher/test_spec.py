"""The codec refuses whatever is not exactly a message, and a refusal leaks no descriptor."""

from __future__ import annotations

import array
import json
import os
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from launcher.examples import MESSAGES

from casemate.launcher import spec

RUN = next(message for message in MESSAGES if message.kind == "run")


def plain(message: spec.Message = RUN) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(spec.encode(message))
    return found


def refused(value: object) -> str:
    with pytest.raises(spec.WireError) as caught:
        spec.decode(value if isinstance(value, bytes) else json.dumps(value).encode())
    return str(caught.value)


def members(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every member of every object in a message."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield (*path, key)
            yield from members(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from members(item, (*path, index))


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.kind)
def test_a_missing_or_another_member_is_refused(message: spec.Message) -> None:
    for path in members(plain(message)):
        cut = plain(message)
        del at(cut, path[:-1])[path[-1]]
        refused(cut)
        renamed = plain(message)
        holder = at(renamed, path[:-1])
        holder[f"{path[-1]}_"] = holder.pop(path[-1])
        refused(renamed)
        more = plain(message)
        at(more, path[:-1])["surplus"] = 1
        refused(more)


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.kind)
def test_a_member_of_another_type_is_refused(message: spec.Message) -> None:
    for path in members(plain(message)):
        was = at(plain(message), path)
        for other in (None, True, 7, 0.5, "7", [], {}):
            # An integer stands for a float, as JSON has one kind of number; "gate" may be null.
            fits = type(other) is type(was) or (type(was) is float and type(other) is int)
            if fits or (path[-1] == "gate" and (other is None or isinstance(other, str))):
                continue
            changed = plain(message)
            at(changed, path[:-1])[path[-1]] = other
            refused(changed)


def test_a_boolean_is_no_integer() -> None:
    changed = plain()
    changed["walls"]["processes"] = True
    assert "run.walls.processes" in refused(changed)
    changed = plain()
    changed["bounds"]["wall"] = True
    assert "run.bounds.wall" in refused(changed)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "1" + "0" * 400, "1" * 5000])
def test_a_number_that_is_not_finite_is_refused(number: str) -> None:
    text = json.dumps(plain()).replace("12345.678901234", number)
    assert number in text
    refused(text.encode())


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_number_that_is_not_finite_is_not_sent(number: float) -> None:
    with pytest.raises(spec.WireError):
        spec.encode(spec.Exited("x", 0, 0, number))


@pytest.mark.parametrize(
    "data",
    [
        b"", b"null", b"[]", b'"cancel"', b"{", b"\xff\xfe", b"{}", b'{"kind": []}', b'{"kind": "nothing"}',
        b'{"kind": null, "id": "x"}', b'{"kind": "cancel", "id": "x"} {}', b'{"kind": "cancel", "id": "x"',
        b"[" * 100_000, b'{"kind":' * 50_000, b'{"kind": "cancel", "id": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
)  # fmt: skip
def test_what_is_no_message_is_refused(data: bytes) -> None:
    refused(data)


def test_a_pair_of_another_length_is_refused() -> None:
    for budgets in ([["step"]], [["step", 1.0, 2.0]], [[]], ["step"]):
        changed = plain()
        changed["job"]["budgets"] = budgets
        refused(changed)


def test_a_message_that_is_too_big_is_not_sent() -> None:
    assert len(spec.encode(spec.Fault("x", "y" * (spec.MAX_MESSAGE - 100)))) <= spec.MAX_MESSAGE
    with pytest.raises(spec.WireError):
        spec.encode(spec.Fault("x", "y" * spec.MAX_MESSAGE))


# --- the channel ------------------------------------------------------------------------------------------------------


def count() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.fixture
def ends() -> Iterator[tuple[spec.Channel, spec.Channel]]:
    one, two = spec.pair()
    yield one, two
    one.close()
    two.close()


def raw(channel: spec.Channel, data: bytes, descriptors: list[int]) -> None:
    """Send a packet that `Channel.send` would not."""
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
    channel.sock.sendmsg([data], rights)


def test_a_message_and_its_descriptors_arrive(ends: tuple[spec.Channel, spec.Channel]) -> None:
    read, write = os.pipe()
    os.write(write, b"same pipe")
    ends[0].send(spec.Cancel("x"), (read, write))
    received = ends[1].receive()
    assert received is not None
    message, descriptors = received
    assert message == spec.Cancel("x")
    assert os.read(descriptors[0], 99) == b"same pipe"
    assert not any(os.get_inheritable(fd) for fd in descriptors)
    spec.close_all([read, write, *descriptors])


def test_the_largest_packet_arrives(ends: tuple[spec.Channel, spec.Channel]) -> None:
    message = spec.Fault("x", "y" * (spec.MAX_MESSAGE - 100))
    ends[0].send(message)
    assert ends[1].receive() == (message, [])


def test_the_end_of_the_peer_reads_as_none(ends: tuple[spec.Channel, spec.Channel]) -> None:
    ends[0].close()
    assert ends[1].receive() is None
    with pytest.raises(BrokenPipeError):
        ends[1].send(spec.Cancel("x"))


@pytest.mark.parametrize(
    ("data", "descriptors"),
    [
        (b"nonsense", 3),
        (spec.encode(spec.Cancel("x"))[:-1], 3),
        (spec.encode(spec.Cancel("x")) + b" " * spec.MAX_MESSAGE, 3),
        (spec.encode(spec.Cancel("x")), spec.MAX_DESCRIPTORS + 1),
        (spec.encode(spec.Cancel("x")), 253),  # the kernel's own bound, SCM_MAX_FD
    ],
    ids=["nonsense", "truncated", "too big", "one descriptor too many", "all descriptors"],
)
def test_a_bad_packet_is_refused_and_leaks_nothing(
    ends: tuple[spec.Channel, spec.Channel], data: bytes, descriptors: int
) -> None:
    before = count()
    raw(ends[0], data, [0] * descriptors)
    with pytest.raises(spec.WireError):
        ends[1].receive()
    assert count() == before
    ends[0].send(spec.Cancel("next"))
    assert ends[1].receive() == (spec.Cancel("next"), [])


def test_an_empty_packet_is_an_end_and_leaks_nothing(ends: tuple[spec.Channel, spec.Channel]) -> None:
    before = count()
    raw(ends[0], b"", [0, 0])
    assert ends[1].receive() is None
    assert count() == before


def test_as_many_descriptors_as_promised_arrive(ends: tuple[spec.Channel, spec.Channel]) -> None:
    before = count()
    ends[0].send(spec.Cancel("x"), (0,) * spec.MAX_DESCRIPTORS)
    received = ends[1].receive()
    assert received is not None
    assert len(received[1]) == spec.MAX_DESCRIPTORS
    spec.close_all(received[1])
    assert count() == before
