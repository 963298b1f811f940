"""Drains a guest's pipe: keeps the first bytes, counts the rest, and never makes the writer wait for a reader.

The bytes are not looked at. They are kept in a memfd, which goes to the caller when all is over; what comes past the
bound is moved to /dev/null inside the kernel (splice(2)).
"""

from __future__ import annotations

import fcntl
import os

CHUNK = 1 << 16


class Stream:
    """The keeper's end of one pipe; `owner` is the uid that may open it anew, as `> /dev/stderr` does (-1: ours)."""

    def __init__(self, name: str, bound: int, owner: int = -1) -> None:
        self.name = name
        self.bound = bound
        self.total = 0
        self.kept = os.memfd_create(name, os.MFD_CLOEXEC)
        self.read, self.write = os.pipe2(os.O_CLOEXEC)
        os.fchown(self.read, owner, -1)
        os.set_blocking(self.read, False)
        self.open = True

    def close_write(self) -> None:
        """Close our copy of the guest's end, once the guest has its own."""
        if self.write >= 0:
            os.close(self.write)
            self.write = -1

    def drain(self, sink: int, *, once: bool) -> None:
        """Take what is there: one portion with `once`, else until the pipe is empty or ended.

        That is no more than a pipe can hold (fcntl(2)), also if somebody still writes.
        """
        most = self.total + (fcntl.fcntl(self.read, fcntl.F_GETPIPE_SZ) if self.open else 0)
        while self.open and self.total < most:
            try:
                room = self.bound - self.total
                if room > 0:
                    data = os.read(self.read, min(CHUNK, room))
                    moved = len(data)
                    os.write(self.kept, data)
                else:
                    moved = os.splice(self.read, sink, 1 << 20)
            except BlockingIOError:
                return
            if moved == 0:
                self.open = False
                os.close(self.read)
                return
            self.total += moved
            if once:
                return

    def close(self) -> None:
        """Let go of everything."""
        self.close_write()
        if self.open:
            self.open = False
            os.close(self.read)
        os.close(self.kept)
