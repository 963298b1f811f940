"""Which room a caller gets when its image is built anew, with a keeper that only takes notes."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from pathlib import Path

import pytest
from processes import wait_until

from casemate.launcher import spec
from casemate.runtime.images import Image
from casemate.runtime.rooms import Rooms, Standing, Template
from casemate.runtime.runtimes import NATIVE

LIGHT = Template("light", "", "")


class Notes:
    """Of the keeper: rooms that were asked for, and those that were retired."""

    alive = True

    def __init__(self) -> None:
        self.asked: dict[str, Future[spec.Ready]] = {}
        self.retired: list[str] = []

    def room(self, message: spec.Room) -> Future[spec.Ready]:
        return self.asked.setdefault(message.id, Future())

    def lost(self, _: str) -> bool:
        return False

    def retire(self, room: str) -> None:
        self.retired.append(room)


def image(digest: str) -> Image:
    return Image("cad", digest * 64, Path("/nowhere"), "2026-01-01", "3.11", "lib", "x")


@pytest.fixture
def notes(monkeypatch: pytest.MonkeyPatch) -> Notes:
    made = Notes()
    monkeypatch.setattr(Rooms, "_connect", lambda _: made)
    return made


def waiting(rooms: Rooms, notes: Notes) -> tuple[str, list[Standing], threading.Thread]:
    """A caller that waits for the room of image `a`; its name."""
    got: list[Standing] = []
    thread = threading.Thread(target=lambda: got.append(rooms.standing(image("a"), LIGHT, NATIVE)))
    thread.start()
    assert wait_until(lambda: notes.asked, 10)
    return next(iter(notes.asked)), got, thread


def anew(rooms: Rooms, notes: Notes) -> threading.Thread:
    """A caller of image `b`, which has the name now."""
    thread = threading.Thread(target=lambda: rooms.standing(image("b"), LIGHT, NATIVE))
    thread.start()
    assert wait_until(lambda: len(notes.asked) == 2, 10)
    return thread


def test_a_room_that_is_waited_for_is_retired_when_its_job_is_over(tmp_path: Path, notes: Notes) -> None:
    rooms = Rooms(tmp_path)
    first, got, one = waiting(rooms, notes)
    two = anew(rooms, notes)
    assert notes.retired == []
    for name, future in notes.asked.items():
        future.set_result(spec.Ready(name, ()))
    one.join(10)
    two.join(10)
    assert [standing.room for standing in got] == [first]
    assert notes.retired == []
    got[0].release()
    assert notes.retired == [first]


def test_one_that_nobody_waits_for_is_retired_at_once(tmp_path: Path, notes: Notes) -> None:
    rooms = Rooms(tmp_path)
    first, got, one = waiting(rooms, notes)
    notes.asked[first].set_result(spec.Ready(first, ()))
    one.join(10)
    got[0].release()
    two = anew(rooms, notes)
    assert notes.retired == [first]
    for future in notes.asked.values():
        if not future.done():
            future.set_result(spec.Ready("b", ()))
    two.join(10)


def test_who_gave_up_holds_no_room(tmp_path: Path, notes: Notes) -> None:
    rooms = Rooms(tmp_path)
    with pytest.raises(TimeoutError):
        rooms.standing(image("a"), LIGHT, NATIVE, 0.0)
    two = anew(rooms, notes)
    assert notes.retired == [next(iter(notes.asked))]
    notes.asked[list(notes.asked)[1]].set_result(spec.Ready("b", ()))
    two.join(10)
