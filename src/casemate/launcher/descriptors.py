"""Lets go of descriptors, also of those that a peer chose, without waiting for anybody.

Whoever closes the last descriptor of a TCP socket waits for as long as its owner said (SO_LINGER, socket(7)), and that
may be whoever received it from a peer inside a wall. The same happens to one that was never taken out of the queue of a
channel that is closed. So sockets are made to be dropped at once, and a queue is emptied first.
"""

from __future__ import annotations

import array
import contextlib
import os
import socket
import stat
import struct

MOST = 253
"""Descriptors in one packet (SCM_MAX_FD, unix(7))."""
SPACE = socket.CMSG_SPACE(MOST * array.array("i").itemsize)
"""Bytes of ancillary data that hold them: what does not fit is closed by the kernel, which may wait."""
UCRED = struct.Struct("=iII")
"""struct ucred of unix(7): pid, uid, gid."""
_AT_ONCE = struct.pack("ii", 1, 0)


def close_all(descriptors: list[int] | tuple[int, ...]) -> None:
    """Close descriptors."""
    for fd in descriptors:
        if stat.S_ISSOCK(os.fstat(fd).st_mode):
            # Family and type matter to nobody here, and asking for them takes calls that a guest's filter may lack.
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fd) as sock, contextlib.suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        else:
            os.close(fd)


def rights(ancillary: list[tuple[int, int, bytes]]) -> list[int]:
    """The descriptors in what recvmsg(2) gave."""
    received = array.array("i")
    for level, kind, payload in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            received.frombytes(payload[: len(payload) - len(payload) % received.itemsize])
    return received.tolist()


def empty(sock: socket.socket) -> None:
    """Take nothing more from the peer (shutdown(2)), and let go of what it has sent."""
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RD)
        # Credentials come with each packet, also with an empty one, and not with the end.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        while True:
            flags = socket.MSG_DONTWAIT | socket.MSG_CMSG_CLOEXEC
            _, ancillary, _, _ = sock.recvmsg(1, SPACE + socket.CMSG_SPACE(UCRED.size), flags)
            if not ancillary:
                return
            close_all(rights(ancillary))
