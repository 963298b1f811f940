"""Rooms that an OCI runtime makes (`oci`), until their wall was seen; and the end of the monitors that made them."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable

from . import cgroups, descriptors, oci, outside, site, spec, syscalls
from .place import Events, Place

NATIVE = "native"
ENDING = 5.0
"""Seconds that a monitor has to take its room down."""


class Foreign:
    """`lose` ends a room and says why; `furnish` goes on with one whose wall was seen."""

    def __init__(
        self, uids: tuple[int, int] | None, events: Events, lose: Callable[[Place, str], None],
        furnish: Callable[[Place], None],
    ) -> None:  # fmt: skip
        self._uids, self._events = uids, events
        self._lose, self._furnish = lose, furnish
        self._ending: list[int] = []
        """Monitors that take their room down."""

    def start(
        self, message: spec.Room, files: dict[str, bytes], procs: tuple[int, ...], group: cgroups.Group | None
    ) -> Place:
        """Have the runtime make a room; that it stands, or why not, is told later. Raises OSError."""
        started = oci.start(message, files, self._uids, procs)
        place = Place(
            message, started.pid, started.channel, (), group, lifeline=started.lifeline, said=started.said,
            due=time.monotonic() + oci.SECONDS,
        )  # fmt: skip
        self._events.watch(place.channel.fileno(), lambda: self._on_first(place))
        self._events.watch(place.said, lambda: self._on_said(place))
        # That there is nobody to hear it any more is told on the other pipe.
        with contextlib.suppress(OSError):
            place.channel.send(spec.Enclosed(message.outer.runtime, tuple(site.namespaces().items())))
        return place

    def _on_first(self, place: Place) -> None:
        """The first word of a room: what was read back in it. What is to be seen from outside is looked at now."""
        runtime = place.room.outer.runtime
        try:
            received = place.channel.receive()
        except BlockingIOError:
            return
        except OSError:
            received = None
        except spec.WireError as error:
            self._lose(place, f"what {runtime} started cannot be understood: {error}")
            return
        if received is None:
            self._events.forget(place.channel.fileno())  # how the runtime ended is told on the other pipe
            return
        message, rights = received
        descriptors.discard(rights)
        try:
            if isinstance(message, spec.Fault):
                raise outside.Unlike(message.message)
            if not isinstance(message, spec.Warm):
                raise outside.Unlike(f"it said {message.kind}")
            seen = outside.examine_room(place.channel.sender, place.pid, place.group, self._uids)
        except (OSError, outside.Unlike) as error:
            self._lose(place, f"what {runtime} made is not the wall that it should be: {error}")
            return
        version = spec.Layer("room.runtime", True, f"{runtime}: {place.room.outer.version}")
        place.layers = (version, *seen, *message.layers)
        place.due = float("inf")
        self._events.forget(place.channel.fileno())
        try:
            self._furnish(place)
        except (OSError, ValueError) as error:
            self._lose(place, str(error))

    def _on_said(self, place: Place) -> None:
        if not syscalls.readable(place.said):
            return  # the descriptor's number may be new since it was looked at
        told = os.read(place.said, 4096).decode("utf-8", "replace")
        self._lose(place, told or f"the monitor of {place.room.outer.runtime} ended")

    def end(self, place: Place) -> None:
        """Have the monitor take its room down."""
        self._events.forget(place.said)
        spec.close_all((place.said, place.lifeline))
        self._ending.append(place.pid)

    def reap(self) -> None:
        """Forget monitors that have ended."""
        self._ending = [pid for pid in self._ending if not _reaped(pid)]

    def finish(self) -> None:
        """Wait for monitors that were told to end; one that does not is killed."""
        end = time.monotonic() + ENDING
        while self._ending and time.monotonic() < end:
            self.reap()
            time.sleep(0.005)
        for pid in self._ending:
            os.kill(pid, 9)  # what it holds dies with it, or is in the keeper's group


def _reaped(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True
