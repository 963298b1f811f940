"""What a peer sent is let go of at once, whatever it is and wherever it waits."""

from __future__ import annotations

import array
import contextlib
import os
import resource
import socket
import struct
import threading
from collections.abc import Callable, Iterator

import pytest
from launcher.forked import forked

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


def ends(body: Callable[[], object], seconds: float = 20) -> bool:
    """Whether it is over in that time."""
    thread = threading.Thread(target=body, daemon=True)
    thread.start()
    thread.join(seconds)
    return not thread.is_alive()


def count() -> int:
    return len(os.listdir("/proc/self/fd"))


def sent(over: socket.socket, fd: int, data: bytes = b"x") -> None:
    """Send a descriptor, so that the receiver has the last one."""
    over.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
    os.close(fd)


def alone(fd: int) -> int:
    return fd


def in_a_queue(fd: int) -> int:
    """A socket that was sent the descriptor."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        sent(theirs, fd)
    return ours.detach()


def in_a_queue_in_a_queue(fd: int) -> int:
    return in_a_queue(in_a_queue(fd))


def in_a_backlog(fd: int) -> int:
    """A listening socket to which somebody connected that sent the descriptor."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("")
    listener.listen()
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(listener.getsockname())
        sent(client, fd)
    return listener.detach()


HIDINGS = (alone, in_a_queue, in_a_queue_in_a_queue, in_a_backlog)


@pytest.mark.parametrize("hidden", HIDINGS)
def test_a_socket_whose_owner_wants_to_wait(lingering: Callable[[], int], hidden: Callable[[int], int]) -> None:
    fd = hidden(lingering())
    before = count()
    assert ends(lambda: descriptors.discard([fd]))
    assert count() == before - 1


@pytest.mark.parametrize("hidden", HIDINGS)
def test_twin_closing_it_waits(lingering: Callable[[], int], hidden: Callable[[int], int]) -> None:
    fd = hidden(lingering())
    assert not ends(lambda: os.close(fd), 1)


@pytest.mark.parametrize("data", [b"x", b""])
def test_one_that_waits_in_a_channel(lingering: Callable[[], int], data: bytes) -> None:
    ours, theirs = spec.pair()
    for _ in range(3):
        sent(theirs.sock, lingering(), data)
    assert ends(ours.end)
    assert ours.fileno() == -1
    with pytest.raises(ConnectionError):
        theirs.send(spec.Cancel("x"))
    theirs.close()


def test_one_that_waits_behind_a_reset(lingering: Callable[[], int]) -> None:
    """A peer that closes without having read all is told of first, before what it sent."""
    ours, theirs = spec.pair()
    sent(theirs.sock, lingering())
    ours.send(spec.Cancel("x"))
    theirs.close()
    assert ends(ours.end)
    assert ours.fileno() == -1


def test_a_channel_with_nothing_left_on_it() -> None:
    before = count()
    for peer_first in (True, False):
        ours, theirs = spec.pair()
        for one in (theirs, ours) if peer_first else (ours, theirs):
            one.end()
    assert count() == before


def test_twin_closing_the_channel_waits(lingering: Callable[[], int]) -> None:
    ours, theirs = spec.pair()
    sent(theirs.sock, lingering())
    assert not ends(ours.close, 1)
    theirs.close()


def test_more_than_a_message_may_have(lingering: Callable[[], int]) -> None:
    ours, theirs = spec.pair()
    ours.ask_sender()
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
    descriptors.discard([read, write, one.detach(), other.detach(), os.memfd_create("x")])
    assert count() == before


def test_at_the_limit_on_open_files_they_are_closed_all_the_same() -> None:
    here, ceiling = resource.getrlimit(resource.RLIMIT_NOFILE)
    fds = [os.dup(0) for _ in range(3)]
    before = count()
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(fds) + 1, ceiling))
    try:
        with contextlib.suppress(OSError):
            while True:
                fds.append(os.dup(0))
        descriptors.discard(fds[:1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (here, ceiling))
        descriptors.close_all(fds[1:])
    assert count() == before - 3


@pytest.mark.parametrize("spare", [0, 1, 2, 3])
def test_descriptors_that_could_not_be_taken_are_told_and_none_is_kept(spare: int) -> None:
    def body() -> list[object]:
        ours, theirs = spec.pair()
        ours.trust()
        opened = [os.open("/dev/null", os.O_RDONLY) for _ in range(3)]
        theirs.send(spec.Cancel("this one"), tuple(opened))
        while opened[-1] <= max(opened[:-1]):  # until no number below the last is free
            opened.append(os.open("/dev/null", os.O_RDONLY))
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (opened[-1] + 1, hard))
        for fd in opened[:spare]:
            os.close(fd)
        try:
            message, received = ours.receive() or (None, [])
            told = ["whole", len(received)]
            spec.close_all(received)
        except spec.CutError as error:
            message, told = error.message, ["cut", 0]
        free = []
        with contextlib.suppress(OSError):
            while True:
                free.append(os.dup(ours.fileno()))
        return [message == spec.Cancel("this one"), *told, len(free)]

    assert forked(body) == [True, *(["whole", 3] if spare == 3 else ["cut", 0]), spare]
