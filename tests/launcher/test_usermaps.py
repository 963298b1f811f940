"""Uid maps: who is who in a room and a sandbox, and the handshake that gets them written."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from launcher.forked import forked

from casemate.launcher import syscalls, usermaps
from casemate.launcher.usermaps import Extent, Handshake

GUEST = 1000


def test_no_two_sandboxes_share_an_id() -> None:
    seen = [extent.outside for slot in range(500) for extent in usermaps.sandbox_extents(slot)]
    assert len(set(seen)) == len(seen) == 1000
    assert 0 not in seen  # the room's own


def test_init_is_root_inside_and_the_guest_is_not() -> None:
    init, guest = usermaps.sandbox_extents(3)
    assert (init.inside, init.count) == (0, 1)
    assert (guest.inside, guest.count) == (GUEST, 1)
    assert init.outside == usermaps.init_id(3)


def test_a_lone_id_is_the_guests_and_not_root() -> None:
    assert usermaps.sandbox_extents(-1) == (Extent(GUEST, 0, 1),)


def test_a_room_has_the_range_it_was_given() -> None:
    assert usermaps.room_extents((70_000, 1024)) == ((Extent(0, 70_000, 1024),),) * 2
    assert usermaps.room_extents(None) == ((Extent(0, os.geteuid(), 1),), (Extent(0, os.getegid(), 1),))


def test_the_maps_are_there_when_the_child_goes_on() -> None:
    def pair() -> list[object]:
        handshake = Handshake()
        uid, gid = os.getuid(), os.getgid()
        out, into = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                syscalls.unshare(syscalls.CLONE_NEWUSER)
                handshake.child()
                maps = [Path(f"/proc/self/{kind}_map").read_text().split() for kind in ("uid", "gid")]
                os.write(into, repr([os.getuid(), os.getgid(), *maps, _descriptors()]).encode())
            finally:
                os._exit(0)
        os.close(into)
        # As an ordinary user does it: one id, and setgroups denied.
        handshake.parent(pid, (Extent(GUEST, uid),), (Extent(GUEST, gid),), privileged=False)
        with os.fdopen(out) as pipe:
            told = pipe.read()
        os.waitpid(pid, 0)
        expected = [
            GUEST,
            GUEST,
            [str(GUEST), str(uid), "1"],
            [str(GUEST), str(gid), "1"],
            _descriptors() + 2,
        ]  # its pipe to here
        return [told, repr(expected)]

    told, expected = forked(pair)
    assert told == expected


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_a_child_that_dies_first_is_an_error_and_leaks_nothing() -> None:
    def parent() -> list[object]:
        before = _descriptors()
        handshake = Handshake()
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        message = ""
        try:
            handshake.parent(pid, (Extent(0, 0),), (Extent(0, 0),), privileged=False)
        except OSError as error:
            message = str(error)
        os.waitpid(pid, 0)
        return [message, _descriptors() - before]

    message, leaked = forked(parent)
    assert "did not enter" in message
    assert leaked == 0


def test_a_map_that_the_kernel_refuses_stops_the_child() -> None:
    def parent() -> list[object]:
        handshake = Handshake()
        pid = os.fork()
        if pid == 0:
            try:
                syscalls.unshare(syscalls.CLONE_NEWUSER)
                handshake.child()
            except OSError:
                os._exit(7)
            os._exit(0)
        refused = False
        try:
            # Overlapping extents: EINVAL (user_namespaces(7)).
            handshake.parent(pid, (Extent(0, 0, 2), Extent(1, 5, 1)), (Extent(0, 0),), privileged=False)
        except OSError:
            refused = True
        return [refused, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])]

    assert forked(parent) == [True, 7]


def test_a_parent_that_dies_does_not_leave_the_child_waiting() -> None:
    def grandparent() -> int:
        handshake = Handshake()
        syscalls.prctl(36, 1)  # PR_SET_CHILD_SUBREAPER: the orphan is ours to wait for
        pid = os.fork()
        if pid == 0:
            if os.fork() == 0:
                try:
                    handshake.child()
                except OSError:
                    os._exit(9)
                os._exit(0)
            os.kill(os.getpid(), signal.SIGKILL)
        for fd in (handshake._entered, handshake._say_entered, handshake._mapped, handshake._say_mapped):
            os.close(fd)
        codes = {os.waitstatus_to_exitcode(os.wait()[1]) for _ in range(2)}
        return 9 if codes == {-signal.SIGKILL, 9} else 0

    assert forked(grandparent) == 9


@pytest.mark.parametrize("slot", [0, 1, 400])
def test_a_slot_fits_into_a_rooms_range(slot: int) -> None:
    assert max(extent.outside for extent in usermaps.sandbox_extents(slot)) < 1024
