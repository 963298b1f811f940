"""The caller's end of a keeper: starts it, and turns its messages into futures.

One thread reads what the keeper says; any thread may send. If the keeper ends, every waiting future fails with
SandboxFault. In a forked child the copy of the socket is closed and the connection is dead: the child makes its own.
"""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from casemate.errors import Busy, PolicyError, SandboxFault
from casemate.launcher import spec
from casemate.runtime import capacity, process

PACKAGE = Path(__file__).parents[1]
"""Where the launcher, the gate and the guest are read from."""

_T = TypeVar("_T")

UID_RANGE = (1_879_048_192, 1 << 20)
"""Host uids for rooms and sandboxes: unassigned by systemd's table (UIDS-GIDS)."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The keeper's facts about an execution, with the descriptors it gave: the caller's to close."""

    facts: spec.Ended
    stdout: int
    stderr: int
    report: int
    workdir: int | None

    def close(self) -> None:
        """Close every descriptor."""
        for fd in (self.stdout, self.stderr, self.report, self.workdir):
            if fd is not None:
                os.close(fd)


class NotBegun(SandboxFault):
    """Our own failure before a byte of the job was read: it may be tried once more."""


def _error(fault: spec.Fault) -> Exception:
    if fault.busy:
        return Busy(fault.message)
    if fault.refused:
        return PolicyError(fault.message)
    return (SandboxFault if fault.begun else NotBegun)(fault.message)


class Connection:
    """A running keeper; `stock` is "SIZE,AGE,MEMORY" of what is kept ready ahead of demand (launcher.stock.Terms)."""

    def __init__(self, state: Path, uids: tuple[int, int] = UID_RANGE, stock: str = "0,60,1") -> None:
        ours, theirs = spec.pair()
        caller = os.pidfd_open(os.getpid())
        try:
            self._process = process.start_keeper(
                PACKAGE, (theirs.fileno(), caller), [str(state), str(PACKAGE), *map(str, uids), stock]
            )
        finally:
            theirs.close()
            os.close(caller)
        ours.trust()
        self._channel = ours
        self._lock = threading.Lock()
        self._rooms: dict[str, Future[spec.Ready]] = {}
        self._runs: dict[str, Future[Finished]] = {}
        self._started: dict[str, Callable[[], None]] = {}
        self._lost: set[str] = set()
        self._dead = ""
        self._thread = threading.Thread(target=self._read, name="casemate-keeper", daemon=True)
        self._thread.start()
        _live.add(self)

    @property
    def alive(self) -> bool:
        """False once the keeper is gone."""
        return not self._dead

    @property
    def keeper_pid(self) -> int:
        """The keeper's process id."""
        return self._process.pid

    def lost(self, room: str) -> bool:
        """True if a room that stood has fallen since."""
        return room in self._lost

    def room(self, message: spec.Room) -> Future[spec.Ready]:
        """Make a room; the future is done when its templates are warm, or fails with SandboxFault."""
        future: Future[spec.Ready] = Future()
        self._send(message, (), self._rooms, message.id, future)
        return future

    def run(self, message: spec.Run, descriptors: tuple[int, ...], started: Callable[[], None]) -> Future[Finished]:
        """Start an execution; `started` is called when the guest is locked down."""
        future: Future[Finished] = Future()
        self._started[message.id] = started
        self._send(message, descriptors, self._runs, message.id, future)
        return future

    def demand(self, message: spec.Demand) -> None:
        """Have sandboxes of this kind ready."""
        with self._lock:
            if not self._dead:
                with contextlib.suppress(OSError):  # the keeper is gone: `_read` is about to say so
                    self._channel.send(message)

    def retire(self, room: str) -> None:
        """Ask nothing new of a room; it ends with its last execution."""
        with self._lock:
            if not self._dead:
                with contextlib.suppress(OSError):
                    self._channel.send(spec.Retire(room))

    def cancel(self, name: str) -> None:
        """Kill an execution; its future gives facts with the reason "cancelled"."""
        with self._lock:
            if not self._dead and name in self._runs:
                with contextlib.suppress(OSError):  # the keeper is gone: `_read` is about to say so
                    self._channel.send(spec.Cancel(name))

    def _send(
        self, message: spec.Room | spec.Run, descriptors: tuple[int, ...],
        table: dict[str, Future[_T]], name: str, future: Future[_T],
    ) -> None:  # fmt: skip
        with self._lock:
            if self._dead:
                raise SandboxFault(self._dead)
            table[name] = future
            try:
                self._channel.send(message, descriptors)
            except (OSError, spec.WireError) as error:
                del table[name]
                raise SandboxFault(f"the keeper cannot be reached: {error}") from error

    def _read(self) -> None:
        why = "the keeper ended"
        while True:
            try:
                try:
                    received = self._channel.receive()
                except ConnectionResetError:
                    # It ended with something of ours unread; what it said before that is still to be had (unix(7)).
                    received = self._channel.receive()
            except spec.CutError as cut:
                self._refuse(cut.message)
                continue
            except (OSError, spec.WireError) as error:
                why = f"the keeper cannot be understood: {error}"
                break
            if received is None:
                break
            message, descriptors = received
            if isinstance(message, spec.Fault) and message.id == "keeper":
                why = message.message
            else:
                self._dispatch(message, descriptors)
        with self._lock:
            self._dead = why
            futures: list[Future[spec.Ready] | Future[Finished]] = [*self._rooms.values(), *self._runs.values()]
            self._rooms.clear()
            self._runs.clear()
        for future in futures:
            if not future.done():
                future.set_exception(SandboxFault(why))

    def _refuse(self, message: spec.Message) -> None:
        """An execution whose output this process has no descriptors for; the keeper and every other one go on."""
        if isinstance(message, spec.Ended):
            with self._lock:
                run = self._runs.pop(message.id, None)
            self._started.pop(message.id, None)
            if run is not None:
                run.set_exception(Busy(capacity.MESSAGE))

    def _dispatch(self, message: spec.Message, descriptors: list[int]) -> None:
        if isinstance(message, spec.Ready):
            with self._lock:
                room = self._rooms.pop(message.room, None)
            if room is not None:
                room.set_result(message)
        elif isinstance(message, spec.Started):
            if callback := self._started.pop(message.id, None):
                # It is the caller's, and this thread serves every caller.
                with contextlib.suppress(Exception):
                    callback()
        elif isinstance(message, spec.Ended) and len(descriptors) in (3, 4):
            with self._lock:
                run = self._runs.pop(message.id, None)
            self._started.pop(message.id, None)
            out, err, told = descriptors[:3]
            finished = Finished(message, out, err, told, descriptors[3] if len(descriptors) == 4 else None)
            if run is None:
                finished.close()
            else:
                run.set_result(finished)
            return
        elif isinstance(message, spec.Fault):
            with self._lock:
                failed = [f for f in (self._rooms.pop(message.id, None), self._runs.pop(message.id, None)) if f]
                if not failed:
                    self._lost.add(message.id)
            self._started.pop(message.id, None)
            for future in failed:
                future.set_exception(_error(message))
        spec.close_all(descriptors)

    def close(self) -> None:
        """End the keeper and wait until it has destroyed everything."""
        _live.discard(self)
        self._channel.sock.shutdown(2)
        if not process.wait(self._process, 20.0):
            raise SandboxFault("the keeper did not end; the next start will sweep what it left")
        self._thread.join(5.0)
        self._channel.close()

    def abandon(self) -> None:
        """In a forked child: close our copy of the socket and touch nothing else."""
        self._dead = "this process is a fork of the one that started the keeper"
        self._lock = threading.Lock()
        os.close(self._channel.sock.detach())


_live: weakref.WeakSet[Connection] = weakref.WeakSet()


def abandon_all() -> None:
    """In a forked child: let go of every keeper of the parent."""
    for connection in list(_live):
        connection.abandon()
    _live.clear()


os.register_at_fork(after_in_child=abandon_all)
