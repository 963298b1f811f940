"""The rooms of a keeper, with their templates: made on request, lost as a whole, and what their templates say."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field

from . import cgroups, outside, room, spec


@dataclass
class Place:
    """A room that stands, and its templates."""

    room: spec.Room
    pid: int
    channel: spec.Channel
    templates: dict[str, spec.Channel]
    warm: set[str] = field(default_factory=set)
    namespaces: set[str] = field(default_factory=set)
    layers: tuple[spec.Layer, ...] = ()
    retired: bool = False


@dataclass(frozen=True, slots=True)
class Events:
    """What the keeper does when something happens in a room."""

    watch: Callable[[int, Callable[[], None]], None]
    forget: Callable[[int], None]
    tell: Callable[[spec.Message, tuple[int, ...]], None]
    exited: Callable[[spec.Exited], None]
    refused: Callable[[spec.Fault], bool]
    """A template could not do what it was told; False if that concerned no execution."""
    lost: Callable[[str], None]
    """No execution of this room can end well any more."""


class Rooms:
    """`files` are the package's own, read before any room stands; `uids` the range that rooms take theirs from."""

    def __init__(
        self, files: dict[str, bytes], uids: tuple[int, int] | None, group: cgroups.Group | None, events: Events
    ) -> None:
        self._files, self._uids, self._group = files, uids, group
        self._events = events
        self._places: dict[str, Place] = {}

    def template(self, room_id: str, name: str) -> spec.Channel:
        """The channel of a warm template; raises OSError if there is none."""
        place = self._places.get(room_id)
        if place is None or name not in place.warm:
            raise OSError(f"no warm template {name}")
        return place.templates[name]

    def stands(self, room_id: str) -> bool:
        """True while a room is there and new jobs may be asked of it."""
        place = self._places.get(room_id)
        return place is not None and not place.retired

    def order(self, room_id: str, wanted: spec.Sandbox, descriptors: tuple[int, ...]) -> None:
        """Have a room's zygote build a sandbox; raises OSError if the room is gone, and then it is known to be."""
        place = self._places.get(room_id)
        if place is None:
            raise OSError(f"no room {room_id}")
        try:
            place.channel.send(wanted, descriptors)
        except ConnectionError as error:
            self._lose(place, f"its zygote is gone: {error}")
            raise

    def namespaces(self) -> set[str]:
        """Of every room with a warm template."""
        return {name for place in self._places.values() for name in place.namespaces}

    def make(self, message: spec.Room) -> None:
        """Start a room; that it stands, or why not, is told later."""
        procs: tuple[int, ...] = ()
        pairs = [spec.pair() for _ in message.templates]
        try:
            if self._group is not None:
                procs = self._group.child(f"room-{message.id}").open_procs()
            pid, channel, layers = room.start(message, self._files, self._uids, procs)
            channel.send(message, tuple(theirs.fileno() for _, theirs in pairs))
        except OSError as error:
            self._events.tell(spec.Fault(message.id, f"room: {error}"), ())
            for ours, _ in pairs:
                ours.close()
            return
        finally:
            spec.close_all(procs)
            for _, theirs in pairs:
                theirs.close()
        templates = {wanted.name: ours for wanted, (ours, _) in zip(message.templates, pairs, strict=True)}
        place = Place(message, pid, channel, templates, layers=layers)
        self._places[message.id] = place
        watch = self._events.watch
        watch(channel.fileno(), lambda: self._lose(place, "its first process ended"))
        for template in templates.values():
            template.sock.setblocking(False)
            template.ask_sender()
            watch(template.fileno(), lambda template=template: self._on_template(place, template))  # type: ignore[misc]

    def _on_template(self, place: Place, channel: spec.Channel) -> None:
        try:
            received = channel.receive()
        except BlockingIOError:
            return
        except (spec.WireError, OSError) as error:
            self._lose(place, f"template: {error}")
            return
        if received is None:
            self._lose(place, "a template ended")
            return
        message, descriptors = received
        spec.close_all(descriptors)
        if isinstance(message, spec.Warm) and message.name in place.templates:
            try:
                place.namespaces |= outside.namespaces(channel.sender)
            except OSError as error:
                self._lose(place, f"template: {error}")
                return
            place.warm.add(message.name)
            place.layers += message.layers
            if place.warm == set(place.templates):
                self._events.tell(spec.Ready(place.room.id, place.layers), ())
        elif isinstance(message, spec.Exited):
            self._events.exited(message)
        elif not (isinstance(message, spec.Fault) and self._events.refused(message)):
            self._lose(place, message.message if isinstance(message, spec.Fault) else f"template said {message.kind}")

    def _lose(self, place: Place, why: str) -> None:
        if self._places.pop(place.room.id, None) is None:
            return
        # The caller must know of the room before it hears of the jobs: it tries them again, and not in there.
        self._events.tell(spec.Fault(place.room.id, f"room: {why}"), ())
        self._events.lost(place.room.id)
        self._end(place)

    def _end(self, place: Place) -> None:
        for channel in (place.channel, *place.templates.values()):
            self._events.forget(channel.fileno())
            channel.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(place.pid, 9)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(place.pid, 0)

    def retire(self, room_id: str) -> None:
        """End this room when no execution is in it any more."""
        if place := self._places.get(room_id):
            place.retired = True

    def end_retired(self, in_use: set[str]) -> None:
        """End those that are retired and not in use."""
        for name, place in list(self._places.items()):
            if place.retired and name not in in_use:
                self._lose(place, "retired")

    def destroy(self) -> None:
        """End every room."""
        for place in self._places.values():
            self._end(place)
        self._places.clear()
