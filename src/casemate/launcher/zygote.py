"""Pid 1 of a room: forks templates and sandboxes, reaps, and ends with the keeper.

It is the light template too: an interpreter with this package and nothing else. It reads only from the keeper. When
that channel ends it exits, and the kernel kills everything in the room (pid_namespaces(7)).
"""

from __future__ import annotations

import os
import select
import signal

from . import init, room, spec, syscalls, template, usermaps

# Read by OpenBLAS and OpenMP when numpy is imported: a template must have one thread.
_QUIET = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "HOME": "/tmp", "LANG": "C.UTF-8"}


def main() -> int:
    """Serve until the keeper is gone."""
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
    channel = spec.adopt(room.CONTROL)
    channel.sock.set_inheritable(False)
    wakeup = template.Wakeup()
    poll = select.poll()
    poll.register(channel, select.POLLIN)
    poll.register(wakeup.read, select.POLLIN)
    while True:
        for fd, _ in poll.poll():
            if fd == wakeup.read:
                wakeup.clear()
                _reap()
                continue
            received = channel.receive()
            if received is None:
                return 0
            message, descriptors = received
            if isinstance(message, spec.Room):
                _templates(message, descriptors, channel)
            elif isinstance(message, spec.Sandbox):
                _sandbox(message, descriptors, channel)
            else:
                raise spec.WireError(f"a zygote is not told {message.kind}")


def _templates(message: spec.Room, descriptors: list[int], control: spec.Channel) -> None:
    for wanted, fd in zip(message.templates, descriptors, strict=True):
        if os.fork() == 0:
            control.close()
            spec.close_all([other for other in descriptors if other != fd])
            os.environ.update(_QUIET)
            template.run(wanted, message.site_packages, spec.adopt(fd))
    spec.close_all(descriptors)


def _sandbox(message: spec.Sandbox, descriptors: list[int], control: spec.Channel) -> None:
    handshake = usermaps.Handshake()
    try:
        pid = os.fork()
    except OSError:
        spec.close_all(descriptors)  # the keeper sees the sandbox's channel end
        return
    if pid == 0:
        control.close()
        signal.set_wakeup_fd(-1)
        init.build(message, descriptors, handshake)
    spec.close_all(descriptors)
    try:
        extents = usermaps.sandbox_extents(message.slot)
        handshake.parent(pid, extents, extents, privileged=message.slot >= 0)
    except OSError:
        return  # the child tells the keeper itself, or its end of the channel closes


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return
