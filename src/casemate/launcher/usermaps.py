"""Uid and gid maps of a new user namespace, written by the parent (user_namespaces(7)).

A process that enters a user namespace cannot map more than its own id; its parent, with CAP_SETUID over the old
namespace, can. So the child says "entered" on one pipe and waits on another until the parent has written the files.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from . import spec, syscalls

TIMEOUT = 10.0


@dataclass(frozen=True)
class Extent:
    """`count` ids from `inside` on are `outside` ids of the parent namespace."""

    inside: int
    outside: int
    count: int = 1


def init_id(slot: int) -> int:
    """The room's id that a sandbox's init has."""
    return 1 + 2 * slot


def sandbox_extents(slot: int) -> tuple[Extent, ...]:
    """Init is 0 inside, the guest GUEST_UID; with one id only (slot -1) both are that one, and it is not 0."""
    if slot < 0:
        return (Extent(spec.GUEST_UID, 0),)
    return (Extent(0, init_id(slot)), Extent(spec.GUEST_UID, init_id(slot) + 1))


def room_extents(uids: tuple[int, int] | None) -> tuple[tuple[Extent, ...], tuple[Extent, ...]]:
    """Uids and gids of a room: the range (first, count) of the host, or the caller's own id alone."""
    if uids:
        return (Extent(0, *uids),), (Extent(0, *uids),)
    return (Extent(0, os.geteuid()),), (Extent(0, os.getegid()),)


class Handshake:
    """The two pipes; made before the fork."""

    def __init__(self) -> None:
        self._entered, self._say_entered = os.pipe2(os.O_CLOEXEC)
        self._mapped, self._say_mapped = os.pipe2(os.O_CLOEXEC)

    def child(self) -> None:
        """In the child, right after it entered its namespace."""
        os.write(self._say_entered, b"e")
        # Else the child would hold the write end open itself, and never see that its parent has gone.
        os.close(self._say_mapped)
        if os.read(self._mapped, 1) != b"m":
            raise OSError("the parent did not write the maps")
        for fd in (self._entered, self._say_entered, self._mapped):
            os.close(fd)

    def parent(self, pid: int, uids: tuple[Extent, ...], gids: tuple[Extent, ...], *, privileged: bool) -> None:
        """In the parent: wait for the child, write its maps, let it go on."""
        try:
            os.close(self._say_entered)
            self._say_entered = -1
            if not syscalls.readable(self._entered, TIMEOUT) or os.read(self._entered, 1) != b"e":
                raise OSError("the child did not enter its user namespace")
            if not privileged:
                _write(f"/proc/{pid}/setgroups", "deny")
            for kind, extents in (("uid", uids), ("gid", gids)):
                text = "".join(f"{e.inside} {e.outside} {e.count}\n" for e in extents)
                _write(f"/proc/{pid}/{kind}_map", text)
            os.write(self._say_mapped, b"m")
        finally:
            for fd in (self._entered, self._say_entered, self._mapped, self._say_mapped):
                if fd >= 0:
                    os.close(fd)


def _write(path: str, text: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)
