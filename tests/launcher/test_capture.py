"""A guest's pipe is kept to the bound, counted past it, and never left full."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest

from casemate.launcher.capture import Stream


@pytest.fixture
def sink() -> Iterator[int]:
    fd = os.open("/dev/null", os.O_WRONLY)
    yield fd
    os.close(fd)


def kept(stream: Stream) -> bytes:
    return os.pread(stream.kept, 1 << 24, 0)


@pytest.mark.parametrize("size", [0, 1, 99, 100, 101, 5000])
def test_kept_to_the_bound_and_counted_past_it(sink: int, size: int) -> None:
    stream = Stream("stdout", 100)
    data = bytes(i % 251 for i in range(size))
    os.write(stream.write, data)
    stream.close_write()
    stream.drain(sink, once=False)
    assert (kept(stream), stream.total, stream.open) == (data[:100], size, False)
    stream.close()


def test_bytes_are_not_interpreted(sink: int) -> None:
    stream = Stream("stdout", 1 << 20)
    data = bytes(range(256)) * 100
    os.write(stream.write, data)
    stream.drain(sink, once=False)
    assert kept(stream) == data
    stream.close()


def test_an_empty_pipe_is_open_and_not_waited_for(sink: int) -> None:
    stream = Stream("stdout", 100)
    stream.drain(sink, once=False)
    stream.drain(sink, once=True)
    assert (stream.total, stream.open) == (0, True)
    stream.close()


@pytest.mark.parametrize("bound", [1, 1000, 70_000, 8 << 20])
def test_a_flood_never_blocks_its_writer(sink: int, bound: int) -> None:
    stream = Stream("stdout", bound)
    size, chunk = 6 << 20, b"x" * (1 << 16)

    def write() -> None:
        for _ in range(size // len(chunk)):
            left = memoryview(chunk)
            while left:
                left = left[os.write(stream.write, left) :]
        stream.close_write()

    writer = threading.Thread(target=write)
    writer.start()
    os.set_blocking(stream.read, True)  # the test waits in read(2), as the keeper waits in poll(2)
    while stream.open:
        stream.drain(sink, once=True)
    writer.join(20)
    assert not writer.is_alive()
    assert (len(kept(stream)), stream.total) == (min(bound, size), size)
    stream.close()


def test_the_last_portion_is_no_more_than_a_pipe_holds(sink: int) -> None:
    """A writer that is still there, when there should be none, holds nobody up."""
    stream = Stream("stdout", 1 << 30)
    over = threading.Event()

    def write() -> None:
        while not over.is_set():
            os.write(stream.write, bytes(1 << 12))

    writers = [threading.Thread(target=write) for _ in range(4)]
    for writer in writers:
        writer.start()
    for _ in range(50):
        before = stream.total
        stream.drain(sink, once=False)
        assert stream.total - before <= 2 << 16
    over.set()
    while any(writer.is_alive() for writer in writers):
        stream.drain(sink, once=True)
    stream.close()


def test_one_portion_at_a_time_leaves_room_for_others(sink: int) -> None:
    stream = Stream("stdout", 10)
    os.write(stream.write, b"0123456789and more")
    stream.drain(sink, once=True)
    assert (kept(stream), stream.total) == (b"0123456789", 10)
    stream.drain(sink, once=True)
    assert (kept(stream), stream.total) == (b"0123456789", 18)
    stream.close()


def test_close_lets_go_of_every_descriptor(sink: int) -> None:
    before = len(os.listdir("/proc/self/fd"))
    open_one, ended = Stream("a", 1), Stream("b", 1)
    ended.close_write()
    ended.drain(sink, once=False)
    for stream in (open_one, ended):
        stream.close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_no_descriptor_is_inherited() -> None:
    stream = Stream("a", 1)
    assert not any(os.get_inheritable(fd) for fd in (stream.kept, stream.read, stream.write))
    stream.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a pipe away")
def test_a_pipe_can_be_the_guests_to_open_anew() -> None:
    ours, given = Stream("a", 1), Stream("b", 1, 12_345)
    assert os.fstat(ours.write).st_uid == 0
    assert (os.fstat(given.write).st_uid, os.fstat(given.write).st_gid) == (12_345, 0)
    for stream in (ours, given):
        stream.close_write()
        stream.close()
