"""Has an OCI runtime make a room, and takes down all that comes of it.

    keeper ──fork──► monitor ──fork, execve──► `RUNTIME run` ──► pid 1 of the room (`behind`, then the zygote)
             lifeline ─►   ◄─ said

The monitor is a fork of the keeper, in a mount namespace of its own (as a user: with a user namespace around it). There
it lays out the bundle on a tmpfs over /run, with the runtime's state directory beside it: nobody else sees them, and
they are gone with the last process in there, however that ends. Cgroup file systems are read-only for the runtime, and
a v2 one beside v1 is covered, which crun would refuse: groups are the keeper's to make. The runtime is started in the
room's group, with an environment of PATH alone, and dies with the monitor (PR_SET_PDEATHSIG).

The monitor is the reaper of its descendants (PR_SET_CHILD_SUBREAPER, prctl(2)): whatever the runtime leaves behind
becomes its child. At the end of the lifeline, so when the keeper wants the room's end or is dead, it kills its
children until there is none, and ends. It says on `said` how the runtime ended, if that ends first.

The runtime is trusted like any program that an administrator installed, but not believed: that the room is what it
should be is read back inside (`behind`) and seen from outside (`outside.examine_room`).
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import signal
from dataclasses import dataclass

from . import bundle, mounts, room, spec, syscalls, usermaps
from .behind import STDERR

BUNDLE, STATE = "/run/bundle", "/run/state"
"""As the monitor and the runtime see them."""
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
TAIL_BYTES = 2000
SECONDS = 20.0
"""Within which a runtime must have made a room."""

# Before `run`: nobody but the keeper makes groups (crun), or to go on without (runc, as if without permission).
_OPTIONS = {"crun": ("--cgroup-manager", "disabled"), "runc": ("--rootless", "true")}


@dataclass(frozen=True, slots=True)
class Started:
    """A runtime that was told to make a room: the monitor, the room's channel, and the two pipes."""

    pid: int
    channel: spec.Channel
    lifeline: int
    """To be closed when the room is to end."""
    said: int
    """How the runtime ended, or the end of file if the monitor did."""


def start(
    wanted: spec.Room, files: dict[str, bytes], uids: tuple[int, int] | None, cgroups: tuple[int, ...]
) -> Started:
    """Fork a monitor that has the runtime make a room; raises OSError if there is none for this runtime."""
    if wanted.outer.runtime not in _OPTIONS:
        raise OSError(f"{wanted.outer.runtime} is not driven by this version")
    ours, theirs = spec.pair()
    ours.ask_sender()
    ours.sock.setblocking(False)
    alive, lifeline = os.pipe2(os.O_CLOEXEC)
    said, say = os.pipe2(os.O_CLOEXEC)
    pid = os.fork()
    if pid == 0:
        _monitor(wanted, files, uids, cgroups, theirs.fileno(), alive, say)
    theirs.close()
    os.close(alive)
    os.close(say)
    return Started(pid, ours, lifeline, said)


def _monitor(
    wanted: spec.Room, files: dict[str, bytes], uids: tuple[int, int] | None, cgroups: tuple[int, ...],
    control: int, alive: int, say: int,
) -> None:  # fmt: skip
    try:
        os.setsid()
        # The keeper's claims are locks on open files, and its caller must see the keeper's end, not ours.
        _close_all_but({0, 1, 2, control, alive, say, *cgroups})
        syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)
        extents = usermaps.room_extents(uids)
        if uids is None:
            extents = _enter_user_namespace()
        syscalls.unshare(syscalls.CLONE_NEWNS)
        syscalls.mount("none", "/", None, syscalls.MS_REC | syscalls.MS_PRIVATE)
        _close_cgroups()
        _lay_out(wanted, files, extents, (uids[0], uids[0]) if uids else (0, 0))
        output = os.memfd_create("output", os.MFD_CLOEXEC)
        runtime = os.fork()
        if runtime == 0:
            _become_runtime(wanted.outer, cgroups, control, output)
        os.close(control)
        os.write(say, _until_over(wanted.outer.runtime, runtime, alive, output))
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.write(say, f"{error}".encode()[:TAIL_BYTES])
    finally:
        _end_children()
        os._exit(0)


def _close_all_but(keep: set[int]) -> None:
    last = -1
    for fd in sorted(keep):
        if last + 1 < fd:  # os.closerange(0, 0) closes all there are
            os.closerange(last + 1, fd)
        last = fd
    syscalls.close_range(last + 1)


def _enter_user_namespace() -> tuple[tuple[usermaps.Extent, ...], tuple[usermaps.Extent, ...]]:
    """Become root of a user namespace, which may mount; gives the maps of the room's own, below it."""
    uid, gid = os.geteuid(), os.getegid()
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)  # the keeper is not, and then the files below are not ours
    syscalls.unshare(syscalls.CLONE_NEWUSER)
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
        fd = os.open(f"/proc/self/{name}", os.O_WRONLY | os.O_CLOEXEC)
        os.write(fd, text.encode())
        os.close(fd)
    return (usermaps.Extent(0, 0),), (usermaps.Extent(0, 0),)


def _close_cgroups() -> None:
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        lines = [(left.split(" ")[4], right.split(" ")[0]) for left, _, right in (row.partition(" - ") for row in file)]
    old = any(kind == "cgroup" for _, kind in lines)
    for point, kind in lines:
        if kind == "cgroup2" and old:
            syscalls.mount("tmpfs", point, "tmpfs", syscalls.MS_RDONLY, "size=4k,mode=0755")
        elif kind in ("cgroup", "cgroup2"):
            syscalls.mount_setattr(point, syscalls.MOUNT_ATTR_RDONLY)


def _lay_out(
    wanted: spec.Room, files: dict[str, bytes],
    extents: tuple[tuple[usermaps.Extent, ...], tuple[usermaps.Extent, ...]], owner: tuple[int, int],
) -> None:  # fmt: skip
    syscalls.mount("tmpfs", "/run", "tmpfs", syscalls.MS_NOSUID | syscalls.MS_NODEV, "size=32m,mode=0755")
    os.mkdir(BUNDLE)
    os.chmod(BUNDLE, 0o755)  # the room's root, which is another uid, goes through it
    os.mkdir(STATE)
    mounts.lay_out(BUNDLE, wanted.image, files, owner)
    place = bundle.Place(f"{BUNDLE}/rootfs", f"{BUNDLE}/dev", f"{BUNDLE}/code")
    made = bundle.config(place, extents, wanted.outer.seccomp)
    with open(f"{BUNDLE}/config.json", "w", encoding="utf-8") as file:
        json.dump(made, file)
    os.chdir("/")


def _become_runtime(outer: spec.Outer, cgroups: tuple[int, ...], control: int, output: int) -> None:
    try:
        syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
        for fd in cgroups:
            os.write(fd, b"0")
        # Nothing that is the host's: a runtime makes its standard streams the property of the room's root (fchown(2)).
        nothing = os.memfd_create("nothing", os.MFD_CLOEXEC)
        # First above the range that will be overwritten. Standard error comes in as what `behind` knows it by.
        wanted = (nothing, output, output, control, 2)
        for target, fd in enumerate([fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 64) for fd in wanted]):
            os.dup2(fd, target, inheritable=True)
        syscalls.close_range(STDERR + 1)
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        argv = [outer.runtime, "--root", STATE, *_OPTIONS[outer.runtime], "run", "--bundle", BUNDLE]
        os.execve(outer.command, [*argv, "--preserve-fds", str(STDERR - room.CONTROL + 1), "room"], {"PATH": PATH})
    except BaseException as error:
        os.write(output, f"cannot be started: {error}".encode())
    finally:
        os._exit(127)


def _until_over(name: str, runtime: int, alive: int, output: int) -> bytes:
    """Wait for the end of the lifeline or of the runtime; what to say of that."""
    process = os.pidfd_open(runtime)
    poll = select.poll()
    poll.register(alive, 0)
    poll.register(process, select.POLLIN)
    if any(fd == alive for fd, _ in poll.poll()):
        return b""
    status = os.waitstatus_to_exitcode(os.waitpid(runtime, 0)[1])
    size = os.fstat(output).st_size
    tail = os.pread(output, TAIL_BYTES, max(0, size - TAIL_BYTES)).strip()
    return f"{name} ended with status {status}".encode() + (b": " + tail if tail else b"")


def _end_children() -> None:
    """Kill our children until there is none: those of a child that dies become ours."""
    while True:
        for pid in _children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _children() -> list[int]:
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                if int(file.read().rpartition(")")[2].split()[1]) == os.getpid():
                    found.append(int(name))
    return found
