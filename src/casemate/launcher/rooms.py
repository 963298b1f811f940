"""The rooms of a keeper, with their templates: made on request, lost as a whole, and what their templates say."""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from . import cgroups, oci, outside, room, site, spec

NATIVE = "native"
ENDING = 5.0
"""Seconds that a monitor has to take its room down."""


@dataclass
class Place:
    """A room that stands, and its templates."""

    room: spec.Room
    pid: int
    channel: spec.Channel
    group: cgroups.Group | None
    templates: dict[str, spec.Channel] = field(default_factory=dict)
    warm: set[str] = field(default_factory=set)
    namespaces: set[str] = field(default_factory=set)
    layers: tuple[spec.Layer, ...] = ()
    retired: bool = False
    lifeline: int = -1
    said: int = -1
    """The two pipes to a runtime's monitor (`oci.Started`)."""
    due: float = math.inf
    """When a runtime must have made it."""


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
        self._ending: list[int] = []
        """Monitors that take their room down."""

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
        native = message.outer.runtime == NATIVE
        try:
            group = None if self._group is None else self._group.child(f"room-{message.id}")
            procs = () if group is None else group.open_procs()
            if native:
                pid, channel, layers = room.start(message, self._files, self._uids, procs)
                place = Place(message, pid, channel, group, layers=layers)
            else:
                started = oci.start(message, self._files, self._uids, procs)
                place = Place(
                    message, started.pid, started.channel, group, lifeline=started.lifeline, said=started.said
                )
        except OSError as error:
            self._events.tell(spec.Fault(message.id, f"room: {error}", refused=not native), ())
            return
        finally:
            spec.close_all(procs)
        self._places[message.id] = place
        if native:
            self._furnish(place)
        else:
            self._await(place)

    def _furnish(self, place: Place) -> None:
        """Have the zygote of a room that stands fork its templates."""
        pairs = [spec.pair() for _ in place.room.templates]
        place.templates = {wanted.name: ours for wanted, (ours, _) in zip(place.room.templates, pairs, strict=True)}
        watch = self._events.watch
        watch(place.channel.fileno(), lambda: self._lose(place, "its first process ended"))
        for template in place.templates.values():
            template.sock.setblocking(False)
            template.ask_sender()
            watch(template.fileno(), lambda template=template: self._on_template(place, template))  # type: ignore[misc]
        try:
            place.channel.send(place.room, tuple(theirs.fileno() for _, theirs in pairs))
        except OSError as error:
            self._lose(place, str(error))
        finally:
            for _, theirs in pairs:
                theirs.close()

    # --- rooms that a runtime makes ---------------------------------------------------------------------------------

    def _await(self, place: Place) -> None:
        place.due = time.monotonic() + oci.SECONDS
        self._events.watch(place.channel.fileno(), lambda: self._on_first(place))
        self._events.watch(place.said, lambda: self._on_said(place))
        # That there is nobody to hear it any more is told on the other pipe.
        with contextlib.suppress(OSError):
            place.channel.send(spec.Enclosed(place.room.outer.runtime, tuple(site.namespaces().items())))

    def _on_first(self, place: Place) -> None:
        """The first word of a room: what was read back in it. What is to be seen from outside is looked at now."""
        runtime = place.room.outer.runtime
        try:
            received = place.channel.receive()
        except BlockingIOError:
            return None
        except OSError:
            received = None
        except spec.WireError as error:
            return self._lose(place, f"what {runtime} started cannot be understood: {error}")
        if received is None:
            return self._events.forget(place.channel.fileno())  # how the runtime ended is told on the other pipe
        try:
            message = received[0]
            spec.close_all(received[1])
            if isinstance(message, spec.Fault):
                raise outside.Unlike(message.message)
            if not isinstance(message, spec.Warm) or place.templates:
                raise outside.Unlike(f"it said {message.kind}")
            seen = outside.examine_room(place.channel.sender, place.pid, place.group, self._uids)
        except (OSError, outside.Unlike) as error:
            return self._lose(place, f"what {runtime} made is not the wall that it should be: {error}")
        version = spec.Layer("room.runtime", True, f"{runtime}: {place.room.outer.version}")
        place.layers = (version, *seen, *message.layers)
        place.due = math.inf
        self._events.forget(place.channel.fileno())
        return self._furnish(place)

    def _on_said(self, place: Place) -> None:
        told = os.read(place.said, 4096).decode("utf-8", "replace")
        self._lose(place, told or f"the monitor of {place.room.outer.runtime} ended")

    def next_time(self) -> float:
        """Monotonic time of the next thing to look at."""
        return min((place.due for place in self._places.values()), default=math.inf)

    def on_time(self, now: float) -> None:
        """Give up on runtimes that took too long, and forget monitors that have ended."""
        for place in list(self._places.values()):
            if now >= place.due:
                self._lose(place, f"{place.room.outer.runtime} made no room within {oci.SECONDS:g} s")
        self._ending = [pid for pid in self._ending if not _reaped(pid)]

    # --- what rooms say, and their end ------------------------------------------------------------------------------

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
        refused = place.room.outer.runtime != NATIVE and not place.templates
        self._events.tell(spec.Fault(place.room.id, f"room: {why}"[:4000], refused=refused), ())
        self._events.lost(place.room.id)
        self._end(place)

    def _end(self, place: Place) -> None:
        for channel in (place.channel, *place.templates.values()):
            self._events.forget(channel.fileno())
            channel.close()
        if place.lifeline >= 0:
            self._events.forget(place.said)
            spec.close_all((place.said, place.lifeline))
            self._ending.append(place.pid)
            return
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
        end = time.monotonic() + ENDING
        while self._ending and time.monotonic() < end:
            self.on_time(time.monotonic())
            time.sleep(0.005)
        for pid in self._ending:
            os.kill(pid, 9)  # what it holds dies with it, or is in the keeper's group


def _reaped(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True
