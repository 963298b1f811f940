"""Lets go of descriptors, also of those that a peer chose, without waiting for anybody.

Whoever closes the last descriptor of a TCP socket waits for as long as its owner said (SO_LINGER, socket(7)), and that
may be whoever received it from a peer inside a wall. The same happens to one that nobody took out of the queue of a
channel that is closed, or of a Unix socket that was sent itself. Only a process that exits never waits. So what a peer
chose is left to a child that exits; no honest peer sends anything that ends here.
"""

from __future__ import annotations

import array
import contextlib
import os
import socket
import struct

MOST = 253
"""Descriptors in one packet (SCM_MAX_FD, unix(7))."""
SPACE = socket.CMSG_SPACE(MOST * array.array("i").itemsize)
"""Bytes of ancillary data that hold them: what does not fit is closed by the kernel, which may wait."""
UCRED = struct.Struct("=iII")
"""struct ucred of unix(7): pid, uid, gid."""


def close_all(descriptors: list[int] | tuple[int, ...]) -> None:
    """Close descriptors of our own."""
    for fd in descriptors:
        os.close(fd)


def discard(descriptors: list[int] | tuple[int, ...]) -> None:
    """Close descriptors that a peer chose."""
    if not descriptors:
        return
    pid = 0
    ends: tuple[int, ...] = ()
    with contextlib.suppress(OSError):  # without a child they are closed here
        ends = read, write = os.pipe()
        pid = _holder(read, write)
    close_all(descriptors)
    close_all(ends)
    if pid:
        os.waitpid(pid, 0)


def _holder(read: int, write: int) -> int:
    """A child that holds what we hold until we close the pipe's end for writing, and exits."""
    pid = os.fork()
    if pid == 0:
        try:
            os.close(write)
            os.read(read, 1)
        finally:
            os._exit(0)
    return pid


def end(sock: socket.socket) -> None:
    """Close the only copy of a channel's end, on which a peer may have left descriptors."""
    try:
        sock.shutdown(socket.SHUT_RD)
        # Credentials come with each packet, also with an empty one, and not with the end.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        data, _, flags, _ = sock.recvmsg(1, 0, socket.MSG_DONTWAIT | socket.MSG_PEEK)
        left = bool(data or flags & socket.MSG_CTRUNC)
    except OSError:
        left = True
    if left and sock.fileno() >= 0:
        discard([sock.detach()])
    else:
        sock.close()


def rights(ancillary: list[tuple[int, int, bytes]]) -> list[int]:
    """The descriptors in what recvmsg(2) gave."""
    received = array.array("i")
    for level, kind, payload in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            received.frombytes(payload[: len(payload) - len(payload) % received.itemsize])
    return received.tolist()
