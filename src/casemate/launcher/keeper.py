"""The keeper: host side, one thread, standard library only; owns cgroups, uids, deadlines and kills.

    caller ══seqpacket══► keeper ══► zygote of each room        (make a sandbox)
                            ╠══════► templates of the room      (fork a guest, tell its status)
                            ╚══════► init of each sandbox       (its end is the sandbox's end)

It runs in a session of its own, started with an empty environment. It parses no untrusted byte: sources, inputs and
what guests write pass through it as descriptors or uninterpreted bytes. What it reads from a room is parsed by one
strict codec, and a message that does not fit ends what sent it.

End of file from the caller, or the death of the caller's process (a pidfd, since a forked child of the caller may hold
a copy of the socket), means: destroy everything. The kernel does the same if the keeper dies: each room's first process
ends with its channel, and with its parent (PR_SET_PDEATHSIG). Then only empty cgroups are left, for the next start.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
import time
from collections import deque
from collections.abc import Callable

from . import cgroups, claims, room, spec, syscalls
from .executions import Executions
from .place import Events
from .preparation import Loop
from .rooms import Rooms
from .stock import Terms


class Keeper:
    """The loop and what it owns."""

    def __init__(
        self,
        caller: spec.Channel,
        caller_pidfd: int,
        state: claims.State,
        package: str,
        uids: tuple[int, int],
        terms: Terms,
    ) -> None:
        self._caller = caller
        self._caller.sock.setblocking(False)
        self._outgoing: deque[tuple[spec.Message, tuple[int, ...]]] = deque()
        self._handlers: dict[int, Callable[[], None]] = {}
        self._poll = select.epoll()
        self._state = state
        files = room.code_files(package)
        sink = os.open("/dev/null", os.O_WRONLY | os.O_CLOEXEC)
        with open(f"/proc/{os.getpid()}/stat", encoding="ascii") as file:
            started = file.read().rpartition(")")[2].split()[19]
        self._name = f"{os.getpid()}-{started}"
        state.sweep()
        found, group = cgroups.survey(), f"casemate-{self._name}"
        # First the record: a keeper that is killed while it makes its group leaves nothing unknown.
        self._claim = state.keeper(self._name, cgroups.keeper_directories(found, group))
        self._group = cgroups.keeper_group(found, group)
        mine = state.uids(*uids) if os.geteuid() == 0 else None
        loop = Loop(self.watch, self.forget, self._tell, lambda: self._executions.namespaces(), sink)
        events = Events(
            self.watch, self.forget, self._tell, lambda room, message: self._executions.exited(room, message),
            lambda room, message: self._executions.refused(room, message), lambda name: self._executions.lost(name),
        )  # fmt: skip
        self._rooms = Rooms(files, mine, self._group, events)
        self._executions = Executions(self._rooms, mine, self._group, loop, terms)
        self._running = True
        self.watch(caller.fileno(), self._on_caller)
        self.watch(caller_pidfd, self._stop)

    # --- the loop -------------------------------------------------------------------------------------------------

    def watch(self, fd: int, handler: Callable[[], None]) -> None:
        """Call `handler` when `fd` is readable or ended."""
        self._handlers[fd] = handler
        self._poll.register(fd, select.EPOLLIN)

    def forget(self, fd: int) -> None:
        """Stop watching; before the descriptor is closed."""
        if self._handlers.pop(fd, None) is not None:
            with contextlib.suppress(OSError):
                self._poll.unregister(fd)

    def serve(self) -> None:
        """Until the caller is gone, then destroy everything."""
        try:
            while self._running:
                now = time.monotonic()
                due = min(self._executions.next_time(now), self._rooms.next_time())
                for fd, _ in self._poll.poll(max(0.0, due - now) + 0.0005):
                    handler = self._handlers.get(fd)
                    if handler is not None:
                        handler()
                self._executions.on_time(time.monotonic())
                self._rooms.on_time(time.monotonic())
        finally:
            self._destroy()

    def _stop(self) -> None:
        self._running = False

    def _tell(self, message: spec.Message, descriptors: tuple[int, ...] = ()) -> None:
        """Send to the caller; what does not fit into its socket now waits here, with copies of the descriptors."""
        try:
            spec.encode(message)
        except spec.WireError as error:
            # What a room told of itself does not fit into one packet any more: its fault, and not the others' end.
            name = message.room if isinstance(message, spec.Ready) else getattr(message, "id", "")
            message, descriptors = spec.Fault(name, str(error)[:4000]), ()
        copies: list[int] = []
        try:
            for fd in descriptors:
                copies.append(os.dup(fd))
        except OSError as error:
            spec.close_all(copies)
            message, copies = spec.Fault(getattr(message, "id", ""), f"no descriptor left for the result: {error}"), []
        self._outgoing.append((message, tuple(copies)))
        self._flush()

    def _flush(self) -> None:
        while self._outgoing:
            message, descriptors = self._outgoing[0]
            try:
                self._caller.send(message, descriptors)
            except BlockingIOError:
                self._poll.modify(self._caller.fileno(), select.EPOLLIN | select.EPOLLOUT)
                return
            except OSError:
                self._running = False
            self._outgoing.popleft()
            spec.close_all(descriptors)
        if self._running:
            self._poll.modify(self._caller.fileno(), select.EPOLLIN)

    # --- the caller -----------------------------------------------------------------------------------------------

    def _on_caller(self) -> None:
        self._flush()
        try:
            received = self._caller.receive()
        except BlockingIOError:
            return
        except (spec.WireError, OSError):
            received = None
        if received is None:
            self._running = False
            return
        message, descriptors = received
        if isinstance(message, spec.Room):
            spec.close_all(descriptors)
            self._rooms.make(message)
        elif isinstance(message, spec.Run):
            self._executions.start(message, descriptors)
        elif isinstance(message, spec.Demand):
            spec.close_all(descriptors)
            self._executions.demand(message)
        elif isinstance(message, spec.Retire):
            spec.close_all(descriptors)
            self._executions.retire(message.id)
        elif isinstance(message, spec.Cancel):
            spec.close_all(descriptors)
            self._executions.cancel(message.id)
        else:
            spec.close_all(descriptors)
            self._running = False

    # --- the end --------------------------------------------------------------------------------------------------

    def _destroy(self) -> None:
        self._executions.destroy()
        self._rooms.destroy()
        if self._group is not None:
            end = time.monotonic() + 10.0
            while not self._group.remove() and time.monotonic() < end:
                self._group.kill()
                time.sleep(0.005)
            if time.monotonic() >= end:
                return  # the record stays, for the next keeper's sweep
        self._state.release_keeper(self._name)


def main(arguments: list[str]) -> int:
    """`keeper CHANNEL CALLER_PIDFD STATE PACKAGE FIRST_UID UIDS STOCK`; anything wrong is told on the channel."""
    channel, pidfd, state, package, first, count, stock = arguments
    caller = spec.adopt(int(channel))
    for fd in (int(channel), int(pidfd)):
        os.set_inheritable(fd, False)
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)
    os.umask(0o077)
    try:
        keeper = Keeper(caller, int(pidfd), claims.State(state), package, (int(first), int(count)), Terms.parse(stock))
    except (OSError, RuntimeError, ValueError) as error:
        caller.send(spec.Fault("keeper", f"{type(error).__name__}: {error}"[:4000]))
        return 1
    caller.sock.setblocking(False)
    keeper.serve()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
