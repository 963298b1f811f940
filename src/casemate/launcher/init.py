"""A sandbox's init, and the first process of its execution.

    zygote ──fork──► builder ──fork──► init (pid 1 of the sandbox) ──fork──► exec (pid 1 of the execution)

The builder enters the user namespace and the others, forks init into the new pid namespace and exits. Init mounts the
sandbox's tree and forks exec, which mounts the guest's own /proc, closes what the guest may not write, gives up
every capability, tells the keeper that the wall stands, and reaps. Both are small forks of the zygote: no library that
parses anything is loaded in them. Init holds the sandbox: when its channel to the keeper ends, it exits, and the kernel
kills all that is in its pid namespace (pid_namespaces(7)). Neither ever reads a byte that came from the guest.

The guest cannot reach init: it lives in the execution's pid namespace, where pid 1 is exec. Exec has no capability, no
descriptor, every signal at its default (which pid 1 ignores from inside), and is not dumpable.
"""

from __future__ import annotations

import contextlib
import os
import signal

from . import mount_table, mounts, spec, steps, syscalls, usermaps
from .site import Place, Site

WORKDIR = 0
"""Init's descriptor of the job directory."""
NAMESPACES = (
    syscalls.CLONE_NEWNS | syscalls.CLONE_NEWNET | syscalls.CLONE_NEWIPC | syscalls.CLONE_NEWUTS | syscalls.CLONE_NEWPID
)


def build(message: spec.Sandbox, descriptors: list[int], handshake: usermaps.Handshake) -> None:
    """In the forked builder; never returns. A failure is told to the keeper as a Fault."""
    channel = spec.adopt(descriptors[0])
    try:
        _build(message, channel, descriptors[1:], handshake)
    except BaseException as error:
        channel.send(spec.Fault(message.id, f"{error}"[:4000]))
    finally:
        os._exit(70)


def _build(message: spec.Sandbox, channel: spec.Channel, rest: list[int], handshake: usermaps.Handshake) -> None:
    single = message.slot < 0
    workdir: list[int] = []

    walls = message.walls

    def tree() -> None:
        workdir.append(mounts.build_sandbox(walls, message.workdir, (spec.GUEST_UID, spec.GUEST_UID)))

    site = Site(
        cgroups=tuple(rest), uid=-1 if single else usermaps.init_id(message.slot),
        user_namespace=handshake.child, expected_uid=spec.GUEST_UID if single else 0, namespaces=NAMESPACES,
        tree=tree, verify_tree=lambda: mount_table.verify(mount_table.sandbox(walls)), hostname="sandbox",
        loopback=walls.loopback,
    )  # fmt: skip
    layers = steps.take(Place.INIT, site, upto="namespaces")
    spec.close_all(site.cgroups)
    syscalls.unshare(syscalls.CLONE_NEWPID)
    if os.fork() != 0:
        os._exit(0)
    layers += steps.take(Place.INIT, site, after="namespaces")
    mine = os.pidfd_open(os.getpid())
    syscalls.unshare(syscalls.CLONE_NEWPID)
    if os.fork() == 0:
        _execution(message, channel, mine, workdir[0], layers)
    _keep_only(channel, workdir[0])
    _serve(message.id, channel)


def _serve(name: str, channel: spec.Channel) -> None:
    """Put inputs into the job directory, until the channel ends and the sandbox with it."""
    while (received := channel.receive()) is not None:
        message, descriptors = received
        if not isinstance(message, spec.Inputs):
            raise spec.WireError(f"an init is not told {message.kind}")
        for file, fd in zip(message.names, descriptors, strict=True):
            _copy_input(WORKDIR, file, fd)
        channel.send(spec.Placed(name))
    os._exit(0)


def _copy_input(directory: int, name: str, source: int) -> None:
    size = os.fstat(source).st_size
    target = os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o444, dir_fd=directory)
    try:
        offset = 0
        while offset < size:
            sent = os.sendfile(target, source, offset, size - offset)
            if sent == 0:
                raise OSError(f"input {name}: cut short")
            offset += sent
        os.fchmod(target, 0o444)
    finally:
        os.close(target)
        os.close(source)


def _execution(
    message: spec.Sandbox, channel: spec.Channel, init: int, workdir: int, layers: tuple[spec.Layer, ...]
) -> None:
    name, walls = message.id, message.walls
    try:
        site = Site(
            namespaces=syscalls.CLONE_NEWNS | syscalls.CLONE_NEWPID, tree=lambda: mounts.narrow(walls),
            verify_tree=lambda: mount_table.verify(mount_table.execution(walls)),
        )  # fmt: skip
        layers += steps.take(Place.EXEC, site)
        channel.send(spec.Standing(name, layers), (init, os.pidfd_open(os.getpid()), workdir))
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
        syscalls.close_range(0)
        while True:
            signal.sigwait([signal.SIGCHLD])
            _reap()
    except BaseException as error:
        channel.send(spec.Fault(name, f"{error}"[:4000]))
    finally:
        os._exit(70)


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


def _keep_only(channel: spec.Channel, workdir: int) -> None:
    """Keep the channel and, as descriptor WORKDIR, the job directory."""
    os.dup2(workdir, WORKDIR)
    fd = channel.fileno()
    for other in range(WORKDIR + 1, fd):
        with contextlib.suppress(OSError):
            os.close(other)
    syscalls.close_range(fd + 1)
