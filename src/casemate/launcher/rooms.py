"""The rooms of a keeper, with their templates: made on request, lost as a whole, and what their templates say."""

from __future__ import annotations

import contextlib
import functools
import math
import os
import socket
import struct

from . import cgroups, descriptors, oci, outside, room, spec, syscalls
from .foreign import NATIVE, Foreign
from .place import Events, Place

_PATIENCE = struct.pack("ll", 0, 500_000)
"""For a zygote whose channel is full, as a timeval: then it does not read any more, and others must not wait for it."""


class Rooms:
    """`files` are the package's own, read before any room stands; `uids` the range that rooms take theirs from."""

    def __init__(
        self, files: dict[str, bytes], uids: tuple[int, int] | None, group: cgroups.Group | None, events: Events
    ) -> None:
        self._files, self._uids, self._group = files, uids, group
        self._events = events
        self._places: dict[str, Place] = {}
        self._foreign = Foreign(uids, events, self._lose, self._furnish)
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
        place: Place | None = None
        group: cgroups.Group | None = None
        native = message.outer.runtime == NATIVE
        try:
            names = [wanted.name for wanted in message.templates]
            if message.id in self._places or len(set(names)) < len(names):
                raise OSError("its id, or the name of a template, is taken")
            group = None if self._group is None else self._group.child(f"room-{message.id}")
            procs = () if group is None else group.open_procs()
            if native:
                place = Place(message, *room.start(message, self._files, self._uids, procs), group)
                self._furnish(place)
            else:
                place = self._foreign.start(message, self._files, procs, group)
        except (OSError, ValueError) as error:
            if place is not None:
                self._end(place)
            elif group is not None:
                self._ended.append(group)
            self._events.tell(spec.Fault(message.id, f"room: {error}"[:4000], refused=not native), ())
            return
        finally:
            spec.close_all(procs)
        self._places[message.id] = place

    def _furnish(self, place: Place) -> None:
        """Have the zygote of a room that stands fork its templates; raises OSError or ValueError."""
        pairs: list[tuple[spec.Channel, spec.Channel]] = []
        names = [wanted.name for wanted in place.room.templates]
        try:
            pairs += [spec.pair() for _ in names]
            for ours, _ in pairs:
                ours.sock.setblocking(False)
                ours.ask_sender()
            place.channel.sock.setblocking(True)
            place.channel.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _PATIENCE)
            place.channel.send(place.room, tuple(theirs.fileno() for _, theirs in pairs))
        except (OSError, ValueError):
            for ours, _ in pairs:
                ours.close()
            raise
        finally:
            for _, theirs in pairs:
                theirs.close()
        place.templates = {name: ours for name, (ours, _) in zip(names, pairs, strict=True)}
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
        refused = place.room.outer.runtime != NATIVE and not place.templates
        self._events.tell(spec.Fault(place.room.id, f"room: {why}"[:4000], refused=refused), ())
        self._events.lost(place.room.id)
        self._end(place)

    def _end(self, place: Place) -> None:
        for channel in (place.channel, *place.templates.values()):
            self._events.forget(channel.fileno())
            channel.end()
        if place.lifeline >= 0:
            self._foreign.end(place)
        else:
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

    def next_time(self) -> float:
        """Monotonic time of the next thing to look at."""
        return min((place.due for place in self._places.values()), default=math.inf)

    def on_time(self, now: float) -> None:
        """Give up on runtimes that took too long, and forget monitors that have ended."""
        for place in list(self._places.values()):
            if now >= place.due:
                self._lose(place, f"{place.room.outer.runtime} made no room within {oci.SECONDS:g} s")
        self._foreign.reap()

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
        self._foreign.finish()
