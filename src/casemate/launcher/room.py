"""Makes a room: from a fork of the keeper to the execve of the zygote, behind the outer wall.

    keeper ──fork──► monitor (the host's pid namespace, the room's others) ──fork──► pid 1 of the room ──execve──►
    zygote

The monitor does nothing but wait: it is the room's parent, so that the keeper has a child to watch and kill. It holds
no descriptor but the report of a failed start. Pid 1 keeps one descriptor, 3, its end of the keeper's channel."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from . import mount_table, mounts, spec, steps, syscalls, usermaps
from .site import Place, Site

CONTROL = 3
NAMESPACES = (
    syscalls.CLONE_NEWNS | syscalls.CLONE_NEWNET | syscalls.CLONE_NEWIPC | syscalls.CLONE_NEWUTS | syscalls.CLONE_NEWPID
)
ZYGOTE = (
    "import sys; sys.path.insert(0, '/opt/casemate'); from casemate.launcher import zygote; sys.exit(zygote.main())"
)
_BUILT = b"built "
"""Begins what pid 1 says before its execve; after the NUL that ends it there is only the reason of a failed execve."""
_FILES = ("model.py", "errors.py")
_PACKAGES = ("launcher", "gate", "guest")


def code_files(package: str) -> dict[str, bytes]:
    """Our own code for inside: path below CODE_ROOT → bytes, read with the keeper's rights before any wall."""
    files = {"casemate/__init__.py": b""}
    for name in _FILES:
        with open(f"{package}/{name}", "rb") as file:
            files[f"casemate/{name}"] = file.read()
    for root in _PACKAGES:
        for directory, _, names in os.walk(f"{package}/{root}"):
            for name in sorted(names):
                if name.endswith((".py", ".toml", ".tsv")):
                    path = f"{directory}/{name}"
                    with open(path, "rb") as file:
                        files[f"casemate/{os.path.relpath(path, package)}"] = file.read()
    return files


def start(
    room: spec.Room, files: dict[str, bytes], uids: tuple[int, int] | None, cgroups: tuple[int, ...]
) -> tuple[int, spec.Channel, tuple[spec.Layer, ...]]:
    """Fork a room; returns the monitor's pid, the keeper's end of the room's channel, and what was read back.

    `uids` is the host's range (first, count) as root, None as a user. Raises OSError with the step that failed: that
    message comes from our own code before the execve, through a pipe that the execve closes.
    """
    ours, theirs = spec.pair()
    failed, say_failed = os.pipe2(os.O_CLOEXEC)
    handshake = usermaps.Handshake()
    pid = os.fork()
    if pid == 0:
        _monitor(room, files, uids, cgroups, theirs.fileno(), handshake, say_failed)
    os.close(say_failed)
    theirs.close()
    users, groups = usermaps.room_extents(uids)
    try:
        handshake.parent(pid, users, groups, privileged=uids is not None)
    except OSError as error:
        refused = str(error)
    else:
        refused = ""
    with os.fdopen(failed, "rb") as pipe:
        told = pipe.read(spec.MAX_MESSAGE)
    built, _, failure = told.partition(b"\0") if told.startswith(_BUILT) else (b"", b"", told)
    if failure or refused or not built:
        ours.close()
        os.waitpid(pid, 0)
        raise OSError(failure.decode("utf-8", "replace") or refused or "the room ended while it was built")
    warm = spec.decode(built.removeprefix(_BUILT))
    assert isinstance(warm, spec.Warm)
    return pid, ours, warm.layers


def _monitor(
    room: spec.Room, files: dict[str, bytes], uids: tuple[int, int] | None, cgroups: tuple[int, ...],
    control: int, handshake: usermaps.Handshake, say_failed: int,
) -> None:  # fmt: skip
    def build() -> None:
        syscalls.prctl(syscalls.PR_SET_PDEATHSIG, 9)
        site = Site(
            cgroups=cgroups, uid=uids[0] if uids else -1, user_namespace=handshake.child, namespaces=NAMESPACES,
            tree=lambda: mounts.build_room(room.image, files), hostname="room",
            verify_tree=lambda: mount_table.verify(mount_table.room()),
        )  # fmt: skip
        layers = steps.take(Place.ROOM, site, upto="namespaces")
        # The uid changes above clear it (prctl(2)).
        syscalls.prctl(syscalls.PR_SET_PDEATHSIG, 9)
        syscalls.unshare(syscalls.CLONE_NEWPID)
        pid = os.fork()
        if pid == 0:
            _guarded(say_failed, lambda: _first(site, layers, control, say_failed))
        os.close(say_failed)
        syscalls.close_range(0)
        _, status = os.waitpid(pid, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)

    _guarded(say_failed, build)


def _guarded(say_failed: int, body: Callable[[], None]) -> None:
    try:
        body()
    except BaseException as error:
        os.write(say_failed, f"{error}"[:4000].encode())
    finally:
        os._exit(70)


def _first(site: Site, layers: tuple[spec.Layer, ...], control: int, say: int) -> None:
    layers += steps.take(Place.ROOM, site, after="namespaces")
    os.write(say, _BUILT + spec.encode(spec.Warm("room", layers)) + b"\0")
    become_zygote(control)


def become_zygote(control: int) -> None:
    """Turn into the zygote, with nothing but its channel `control`; pid 1 of a room whose wall stands."""
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, 9)
    null = os.open("/dev/null", os.O_RDWR)
    control = os.dup(control)
    for fd in (0, 1):
        os.dup2(null, fd)
    # Standard error stays the caller's: what a library prints while it is imported is for whoever runs the host.
    os.dup2(control, CONTROL, inheritable=True)
    for name in os.listdir("/proc/self/fd"):
        if int(name) > CONTROL:
            try:
                os.set_inheritable(int(name), False)
            except OSError:
                continue
    major, minor = sys.version_info[:2]
    os.execve("/usr/bin/python3", [f"python{major}.{minor}", "-I", "-S", "-B", "-c", ZYGOTE], {})
