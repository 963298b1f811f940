"""A room is another's, once it stands: what it does not take, or takes up, is its own loss and nobody else's time."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator

import pytest
from launcher.examples import WALLS

from casemate.launcher import room, rooms, spec
from casemate.launcher.messages import Outer, Room, Template

NATIVE = Outer("native", "", "", "")
MADE = Room("r1", "/", "/", (Template("light", "", ""),), NATIVE)
SANDBOX = spec.Sandbox("x", 0, "/tmp/job-x", WALLS)


class Told:
    """What the keeper would have done."""

    def __init__(self) -> None:
        self.messages: list[spec.Message] = []
        self.lost: list[str] = []
        self.ends: list[spec.Channel] = []
        """The zygotes' ends."""
        self.events = rooms.Events(
            watch=lambda fd, handler: None, forget=lambda fd: None,
            tell=lambda message, _: self.messages.append(message), exited=lambda room, message: True,
            refused=lambda room, message: False, lost=self.lost.append,
        )  # fmt: skip


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def standing(told: Told, monkeypatch: pytest.MonkeyPatch) -> Iterator[rooms.Rooms]:
    """One room, of a process that never reads."""

    def start(*_: object) -> tuple[int, spec.Channel, tuple[spec.Layer, ...]]:
        ours, theirs = spec.pair()
        told.ends.append(theirs)
        pid = os.fork()
        if pid == 0:
            signal.pause()
            os._exit(0)
        return pid, ours, ()

    monkeypatch.setattr(room, "start", start)
    made = rooms.Rooms({}, None, None, told.events)
    made.make(MADE)
    yield made
    made.destroy()
    for end in told.ends:
        end.close()


def test_a_zygote_that_does_not_read_is_lost_and_holds_nobody_up(standing: rooms.Rooms, told: Told) -> None:
    def fill() -> None:
        with contextlib.suppress(BlockingIOError):
            while True:
                standing.order("r1", SANDBOX, ())

    filling = threading.Thread(target=fill, daemon=True)
    filling.start()
    filling.join(30)
    assert not filling.is_alive()
    assert told.lost == ["r1"]
    assert not standing.stands("r1")
    with pytest.raises(OSError, match="no room"):
        standing.order("r1", SANDBOX, ())


def test_a_template_that_is_warm_again_ends_with_its_room(standing: rooms.Rooms, told: Told) -> None:
    received = told.ends[0].receive()
    assert received is not None
    template = spec.adopt(received[1][0])
    for _ in range(2):
        template.send(spec.Warm("light", ()))
        assert told.lost == []
        standing._on_template(standing._places["r1"], "light")
    assert told.lost == ["r1"]
    assert [message.kind for message in told.messages] == ["ready", "fault"]
    template.close()


def test_an_id_that_is_taken_is_refused(standing: rooms.Rooms, told: Told) -> None:
    standing.make(MADE)
    standing.make(Room("r2", "/", "/", (Template("light", "", ""),) * 2, NATIVE))
    faults = [message for message in told.messages if isinstance(message, spec.Fault)]
    assert [fault.id for fault in faults] == ["r1", "r2"]
    assert standing.stands("r1")
    assert not standing.stands("r2")
