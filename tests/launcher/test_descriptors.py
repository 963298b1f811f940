"""What a peer sent is let go of at once, whatever it is and wherever it waits."""

from __future__ import annotations

import array
import contextlib
import os
import socket
import struct
import threading
from collections.abc import Callable, Iterator

import pytest

from casemate.launcher import descriptors, spec

HOURS = 10_000


@pytest.fixture
def lingering() -> Iterator[Callable[[], int]]:
    """Makes TCP sockets with bytes that nobody takes, whose owner wants to wait for that."""
    kept: list[socket.socket] = []

    def make() -> int:
        server = socket.create_server(("127.0.0.1", 0))
        client = socket.create_connection(server.getsockname())
        kept.extend([server, server.accept()[0]])
        client.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while client.send(bytes(1 << 16)):
                pass
        client.setblocking(True)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, HOURS))
        return client.detach()

    yield make
    for one in kept:
        one.close()


def ends(body: Callable[[], object]) -> bool:
    """Whether it is over in time."""
    thread = threading.Thread(target=body, daemon=True)
    thread.start()
    thread.join(5)
    return not thread.is_alive()


def count() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_a_socket_whose_owner_wants_to_wait(lingering: Callable[[], int]) -> None:
    fd = lingering()
    before = count()
    assert ends(lambda: descriptors.close_all([fd]))
    assert count() == before - 1


def test_twin_closing_it_waits(lingering: Callable[[], int]) -> None:
    fd = lingering()
    assert not ends(lambda: os.close(fd))


@pytest.mark.parametrize("data", [b"x", b""])
def test_one_that_waits_in_a_channel(lingering: Callable[[], int], data: bytes) -> None:
    ours, theirs = spec.pair()
    for _ in range(3):
        fd = lingering()
        theirs.sock.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
        os.close(fd)
    assert ends(ours.end)
    assert ours.fileno() == -1
    with pytest.raises(BrokenPipeError):
        theirs.send(spec.Cancel("x"))
    theirs.close()


def test_twin_closing_the_channel_waits(lingering: Callable[[], int]) -> None:
    ours, theirs = spec.pair()
    fd = lingering()
    theirs.sock.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
    os.close(fd)
    assert not ends(ours.close)
    theirs.close()


def test_more_than_a_message_may_have(lingering: Callable[[], int]) -> None:
    ours, theirs = spec.pair()
    made = [os.dup(0) for _ in range(spec.MAX_DESCRIPTORS)] + [lingering()]
    theirs.sock.sendmsg(
        [spec.encode(spec.Cancel("x"))], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", made))]
    )
    for fd in made:
        os.close(fd)

    def receive() -> None:
        with pytest.raises(spec.WireError):
            ours.receive()

    assert ends(receive)
    ours.close()
    theirs.close()


def test_other_descriptors_are_closed() -> None:
    before = count()
    read, write = os.pipe()
    one, other = socket.socketpair()
    descriptors.close_all([read, write, one.detach(), other.detach(), os.memfd_create("x")])
    assert count() == before
