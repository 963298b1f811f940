"""A template: a fork of the zygote that has imported what its jobs need, and forks guests into executions.

It never runs untrusted code, holds no descriptor to anything but the keeper, and refuses to fork unless it has exactly
one thread (fork(2) copies only the calling thread, and with it every lock that another one held). A guest is forked
once, straight into the execution's pid namespace (setns(2) of the pid namespace concerns children), so that a process
of hundreds of megabytes is copied once per job, and init stays small."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import os
import select
import signal
import sys
from collections.abc import Callable
from typing import Any

from . import memory, spec, steps, syscalls
from .site import Place, Site


class Wakeup:
    """SIGCHLD as a readable descriptor (signal.set_wakeup_fd); only in processes that no guest can signal."""

    def __init__(self) -> None:
        self.read, self._write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)

    def clear(self) -> None:
        """Forget what was signalled so far."""
        try:
            while os.read(self.read, 512):
                pass
        except BlockingIOError:
            return


def entry(name: str) -> Callable[..., Any]:
    """The function "module:function"."""
    module, _, function = name.partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module), function)
    return found


def run(template: spec.Template, site_packages: str, channel: spec.Channel) -> None:
    """In the forked template; never returns."""
    try:
        # The interpreter was started without `site`, which would have done this.
        sys.path.append(site_packages)
        if template.warm:
            entry(template.warm)()
        threads = len(os.listdir("/proc/self/task"))
        if threads != 1:
            raise RuntimeError(f"template {template.name} has {threads} threads after warming up")
        detail = f"1 thread, {memory.settle() >> 20} MiB in huge pages"
        pages = memory.written(entry(template.rehearse)) if template.rehearse else ()
        channel.send(spec.Warm(template.name, (spec.Layer(f"template.{template.name}", True, detail),)))
        _serve(channel, pages)
    except BaseException as error:
        channel.send(spec.Fault(template.name, f"{type(error).__name__}: {error}"[:4000]))
    finally:
        os._exit(70)


def _serve(channel: spec.Channel, pages: memory.Ranges) -> None:
    home = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    wakeup = Wakeup()
    guests: dict[int, str] = {}
    poll = select.poll()
    poll.register(channel, select.POLLIN)
    poll.register(wakeup.read, select.POLLIN)
    while True:
        for fd, _ in poll.poll():
            if fd == wakeup.read:
                wakeup.clear()
                _reap(guests, channel)
                continue
            received = channel.receive()
            if received is None:
                os._exit(0)
            message, descriptors = received
            if not isinstance(message, spec.Guest):
                raise spec.WireError(f"a template is not told {message.kind}")
            try:
                guests[_fork(message, descriptors, home, pages)] = message.id
            except OSError as error:
                # The execution may be dead already: cancelled, or out of time.
                channel.send(spec.Fault(message.id, f"the guest could not be forked: {error}"))
            finally:
                spec.close_all(descriptors)


def _reap(guests: dict[int, str], channel: spec.Channel) -> None:
    while True:
        try:
            pid, status, usage = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        name = guests.pop(pid, None)
        if name is None:
            continue  # no child that we made: whoever made it ours, it is nobody's verdict
        code = os.waitstatus_to_exitcode(status)
        cpu = usage.ru_utime + usage.ru_stime
        channel.send(spec.Exited(name, max(code, 0), max(-code, 0), cpu))


def _fork(message: spec.Guest, descriptors: list[int], home: int, pages: memory.Ranges) -> int:
    if len(os.listdir("/proc/self/task")) != 1:
        raise RuntimeError("more than one thread: refusing to fork")
    syscalls.setns(descriptors[0], syscalls.CLONE_NEWPID)
    try:
        pid = os.fork()
        if pid == 0:
            _guest(message, descriptors, pages)
    finally:
        syscalls.setns(home, syscalls.CLONE_NEWPID)
    return pid


def _guest(message: spec.Guest, descriptors: list[int], pages: memory.Ranges) -> None:
    setup: spec.Channel | None = None
    locking = True
    code = 70
    try:
        setup = spec.adopt(os.dup(descriptors[4]))
        with open("/proc/self/statm", encoding="ascii") as file:
            sizes = [int(value) for value in file.read().split()]
        size = os.sysconf("SC_PAGE_SIZE")
        signal.set_wakeup_fd(-1)
        null = os.open("/dev/null", os.O_RDONLY)
        # The set-up channel becomes descriptor 4: the last to be closed.
        site = Site(
            cgroups=tuple(descriptors[5:]), join=descriptors[0], walls=message.walls, uid=0 if message.identity else -1,
            address_space=sizes[0] * size + message.walls.address_space, data=sizes[5] * size + message.walls.data,
            keep=(null, *descriptors[1:4], setup.sock.detach()),
        )  # fmt: skip
        setup = None
        layers = steps.take(Place.GUEST, site, upto="descriptors")
        setup = spec.adopt(4)
        os.chdir(message.workdir)
        layers += steps.take(Place.GUEST, site, after="descriptors")
        setup.send(spec.Locked(message.id, layers))
        job = _wait(setup, message.id, pages)
        setup.close()
        setup, locking = None, False
        code = entry(job.entry)(
            dataclasses.replace(job.job, address_space_after=site.address_space, cpu_after=message.walls.cpu_seconds)
        )
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(BaseException):  # the program may have closed or replaced it
                stream.flush()
        syscalls.flush_streams()
    except BaseException as error:
        with contextlib.suppress(OSError):
            # Until the descriptors are put in order, the channel is where it came in.
            channel = setup or (spec.adopt(descriptors[4]) if locking else None)
            if channel is not None:
                channel.send(spec.Fault(message.id, f"{type(error).__name__}: {error}"[:4000]))
    finally:
        os._exit(code & 0xFF)


def _wait(setup: spec.Channel, name: str, pages: memory.Ranges) -> spec.Job:
    """The one job of this guest; its standard input comes with it. A keeper that is gone, or wants no job, ends us."""
    received = setup.receive()
    if received is not None and isinstance(received[0], spec.Prefault):
        spec.close_all(received[1])
        # pselect6 is in the filter that is on by now, poll is not.
        memory.prefault(pages, until=lambda: bool(select.select([setup], [], [], 0)[0]))
        with contextlib.suppress(OSError):  # with the job given, nobody listens any more
            setup.send(spec.Prefaulted(name))
        try:
            received = setup.receive()
        except ConnectionResetError:
            # The keeper gave the job and closed its end with that unread; the job is still to be had (unix(7)).
            received = setup.receive()
    if received is None:
        os._exit(0)
    job, descriptors = received
    if not isinstance(job, spec.Job) or len(descriptors) != 1:
        raise spec.WireError(f"a guest is not told {job.kind}")
    os.dup2(descriptors[0], 0)
    os.close(descriptors[0])
    return job
