"""The rooms of a keeper, with their templates: made on request, lost as a whole, and what their templates say."""

from __future__ import annotations

import contextlib
import functools
import os
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass, field

from . import cgroups, descriptors, outside, room, spec, syscalls

_PATIENCE = struct.pack("ll", 0, 500_000)
"""For a zygote whose channel is full, as a timeval: then it does not read any more, and others must not wait for it."""


@dataclass
class Place:
    """A room that stands, and its templates."""

    room: spec.Room
    pid: int
    channel: spec.Channel
    layers: tuple[spec.Layer, ...]
    group: cgroups.Group | None
    templates: dict[str, spec.Channel] = field(default_factory=dict)
    warm: set[str] = field(default_factory=set)
    namespaces: set[str] = field(default_factory=set)
    retired: bool = False


@dataclass(frozen=True, slots=True)
class Events:
    """What the keeper does when something happens in a room."""

    watch: Callable[[int, Callable[[], None]], None]
    forget: Callable[[int], None]
    tell: Callable[[spec.Message, tuple[int, ...]], None]
    exited: Callable[[str, spec.Exited], bool]
    """A guest of this room was reaped; False if none was to be told of."""
    refused: Callable[[str, spec.Fault], bool]
    """A template of this room could not do what it was told; False if that concerned no execution."""
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
        self._ended: list[cgroups.Group] = []

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
        """Have a room's zygote build a sandbox; raises OSError if the room is gone, or ends as it does not listen."""
        place = self._places.get(room_id)
        if place is None:
            raise OSError(f"no room {room_id}")
        try:
            place.channel.send(wanted, descriptors)
        except (ConnectionError, BlockingIOError) as error:
            self._lose(place, f"its zygote is gone, or does not listen: {error}")
            raise

    def namespaces(self) -> set[str]:
        """Of every room with a warm template."""
        return {name for place in self._places.values() for name in place.namespaces}

    def make(self, message: spec.Room) -> None:
        """Start a room; that it stands, or why not, is told later."""
        procs: tuple[int, ...] = ()
        pairs: list[tuple[spec.Channel, spec.Channel]] = []
        place: Place | None = None
        group: cgroups.Group | None = None
        try:
            names = [wanted.name for wanted in message.templates]
            if message.id in self._places or len(set(names)) < len(names):
                raise OSError("its id, or the name of a template, is taken")
            group = None if self._group is None else self._group.child(f"room-{message.id}")
            pairs += [spec.pair() for _ in names]
            for ours, _ in pairs:
                ours.sock.setblocking(False)
                ours.ask_sender()
            procs = () if group is None else group.open_procs()
            place = Place(message, *room.start(message, self._files, self._uids, procs), group)
            place.channel.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _PATIENCE)
            place.channel.send(message, tuple(theirs.fileno() for _, theirs in pairs))
        except (OSError, ValueError) as error:
            if place is not None:
                self._end(place)
            elif group is not None:
                self._ended.append(group)
            for ours, _ in pairs:
                ours.close()
            self._events.tell(spec.Fault(message.id, f"room: {error}"), ())
            return
        finally:
            spec.close_all(procs)
            for _, theirs in pairs:
                theirs.close()
        place.templates = {name: ours for name, (ours, _) in zip(names, pairs, strict=True)}
        self._places[message.id] = place
        self._events.watch(place.channel.fileno(), functools.partial(self._on_zygote, place))
        for name, template in place.templates.items():
            self._events.watch(template.fileno(), functools.partial(self._on_template, place, name))

    def _on_zygote(self, place: Place) -> None:
        """It has nothing to say, so this is its end; but a descriptor's number may be new since it was looked at."""
        if syscalls.readable(place.channel.fileno()):
            self._lose(place, "its first process ended")

    def _on_template(self, place: Place, name: str) -> None:
        channel = place.templates[name]
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
        message, rights = received
        descriptors.discard(rights)
        if isinstance(message, spec.Warm) and message.name == name and name not in place.warm:
            try:
                place.namespaces |= outside.namespaces(channel.sender)
            except OSError as error:
                self._lose(place, f"template: {error}")
                return
            place.warm.add(name)
            place.layers += message.layers
            if place.warm == set(place.templates):
                self._events.tell(spec.Ready(place.room.id, place.layers), ())
        elif isinstance(message, spec.Exited) and self._events.exited(place.room.id, message):
            return
        elif not (isinstance(message, spec.Fault) and self._events.refused(place.room.id, message)):
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
            channel.end()
        with contextlib.suppress(ProcessLookupError):
            os.kill(place.pid, 9)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(place.pid, 0)
        if place.group is not None:
            self._ended.append(place.group)

    def retire(self, room_id: str) -> None:
        """End this room when no execution is in it any more."""
        if place := self._places.get(room_id):
            place.retired = True

    def end_retired(self, in_use: set[str]) -> None:
        """End those that are retired and not in use."""
        for name, place in list(self._places.items()):
            if place.retired and name not in in_use:
                self._lose(place, "retired")

    @property
    def emptying(self) -> bool:
        """True while there are groups of rooms that have ended."""
        return bool(self._ended)

    def remove_groups(self) -> None:
        """Of rooms that have ended, once they are empty."""
        self._ended = [group for group in self._ended if not group.remove()]

    def destroy(self) -> None:
        """End every room."""
        for place in self._places.values():
            self._end(place)
        self._places.clear()
