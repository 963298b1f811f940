"""The file system of a room and of a sandbox; what it must then be, `mount_table` sees.

A room's root is the image, read-only, with a device directory, our own code (copied, not bound) and a /proc of its own.
Below /run/root the room keeps a second, prepared tree of the same things without /proc. A sandbox binds that tree
over itself, mounts its one tmpfs and its own /proc inside, and pivots into it: nothing else of the room stays mounted.

Traps (each tried on Linux 6.18): a bind inside a new user namespace must be recursive, because the mounts it inherits
are locked together; pivot_root refuses a locked mount, so the tree is bound over itself first; a new proc mount needs
an old one that is fully visible, so it comes before the pivot and the room's /proc has nothing mounted over it
(mount_namespaces(7), "Restrictions on mount namespaces").
"""

from __future__ import annotations

import os

from . import spec, syscalls

PREPARED = "/run/root"
DEVICES = ("null", "zero", "full", "random", "urandom")
LINKS = (
    ("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2"),
    ("ptmx", "pts/ptmx"), ("shm", "/tmp"),  # POSIX shared memory and semaphores are files there (shm_overview(7))
)  # fmt: skip
_OVERLAY = syscalls.MS_RDONLY | syscalls.MS_NOSUID | syscalls.MS_NODEV
_INERT = syscalls.MS_NOSUID | syscalls.MS_NODEV | syscalls.MS_NOEXEC
PROC = ("hidepid=invisible", "subset=pid")
"""What the guest's /proc is mounted with (proc(5)); a masked one without the second."""
SHOWN = frozenset({"cpuinfo", "filesystems", "loadavg", "meminfo", "stat", "sys", "uptime", "version", "vmstat"})
"""What a masked /proc shows beside processes: what ps, free, uptime and the C library read."""
_EMPTY = "run"
"""A directory of the image with nothing in it, which is read-only there."""
_PTS = "newinstance,ptmxmode=0666,mode=0600,max=16"


def _tmpfs(target: str, options: str, flags: int = _INERT) -> None:
    syscalls.mount("tmpfs", target, "tmpfs", flags, options)


def _devices(directory: str, *, nodes: bool = True) -> None:
    """Bind the five harmless device nodes of the host over empty files, and link the descriptors.

    Without `nodes` the files stay empty: somebody else binds what belongs there.
    """
    _tmpfs(directory, "size=64k,nr_inodes=32,mode=0755", syscalls.MS_NOSUID | syscalls.MS_NOEXEC)
    for name in DEVICES:
        node = f"{directory}/{name}"
        os.close(os.open(node, os.O_CREAT | os.O_WRONLY, 0o666))
        if nodes:
            syscalls.mount(f"/dev/{name}", node, None, syscalls.MS_BIND)
    for name, target in LINKS:
        os.symlink(target, f"{directory}/{name}")
    os.mkdir(f"{directory}/pts", 0o755)  # where a sandbox with terminals mounts its own
    syscalls.mount_setattr(directory, syscalls.MOUNT_ATTR_RDONLY)


def _code(directory: str, files: dict[str, bytes], owner: tuple[int, int] | None = None) -> None:
    _tmpfs(directory, "size=16m,nr_inodes=1k,mode=0755")
    for name, data in files.items():
        path = f"{directory}/{name}"
        os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
        fd = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o444)
        with os.fdopen(fd, "wb") as file:
            file.write(data)
    if owner is not None:
        for path, _, names in os.walk(directory):
            for name in (".", *names):
                os.chown(f"{path}/{name}", *owner)
    syscalls.mount_setattr(directory, syscalls.MOUNT_ATTR_RDONLY)


def _show(image: str, root: str) -> None:
    """Mount the image, read-only, on `root`, a directory that is made for it.

    A bind of the image would show its path on the host, and so the user's name, in every mountinfo. An overlay shows
    the words it was given: "." and an empty directory, since a read-only overlay needs two (overlayfs.rst).
    """
    os.chdir(image)
    _tmpfs("run", "size=64k,nr_inodes=8,mode=0755")
    os.mkdir("run/empty", 0o755)
    os.mkdir(root, 0o755)
    syscalls.mount("image", root, "overlay", _OVERLAY, "lowerdir=.:run/empty")


def lay_out(bundle: str, image: str, files: dict[str, bytes], owner: tuple[int, int]) -> None:
    """Mount what a runtime is to show in a room, each below `bundle`: the image, a /dev without nodes, our own code.

    In a mount namespace of the caller's own, whose mounts nobody else sees; `owner` is who the room's root is here.
    """
    _show(image, f"{bundle}/rootfs")
    os.chdir(bundle)
    for name in ("dev", "code"):
        os.mkdir(name, 0o755)
    _devices("dev", nodes=False)
    _code("code", files, owner)


def build_room(image: str, files: dict[str, bytes]) -> None:
    """Mount a room's tree and enter it; the caller is pid 1 of new namespaces."""
    syscalls.mount("none", "/", None, syscalls.MS_REC | syscalls.MS_PRIVATE)
    root = f"{image}/run/root"
    _show(image, root)
    os.chdir(root)
    _devices("dev")
    _code("opt/casemate", files)
    _tmpfs("tmp", "size=16m,nr_inodes=4k,mode=0755")
    _tmpfs("run", "size=64k,nr_inodes=16,mode=0755")
    syscalls.mount("proc", "proc", "proc", _INERT)
    prepare(root)
    enter(".")


def prepare(root: str) -> None:
    """Mount the tree that sandboxes take, in the room whose root is `root` and the working directory."""
    prepared = PREPARED.lstrip("/")
    os.mkdir(prepared, 0o755)
    syscalls.mount(root, prepared, None, syscalls.MS_BIND)
    for name in ("dev", "opt/casemate"):
        syscalls.mount(name, f"{prepared}/{name}", None, syscalls.MS_BIND | syscalls.MS_REC)


def build_sandbox(walls: spec.Walls, workdir: str, owner: tuple[int, int]) -> int:
    """Mount a sandbox's tree and enter it; returns a descriptor of its job directory, which the guest owns."""
    syscalls.mount("none", "/", None, syscalls.MS_REC | syscalls.MS_PRIVATE)
    syscalls.mount(PREPARED, PREPARED, None, syscalls.MS_BIND | syscalls.MS_REC)
    os.chdir(PREPARED)
    syscalls.mount("proc", "proc", "proc", _INERT)
    if walls.pty:
        syscalls.mount("devpts", "dev/pts", "devpts", syscalls.MS_NOSUID | syscalls.MS_NOEXEC, _PTS)
    # One tmpfs for every writable place, so that its bounds hold for all of them together.
    flags = _INERT & ~syscalls.MS_NOEXEC if walls.exec_writable else _INERT
    _tmpfs("run", f"size={walls.disk_bytes},nr_inodes={walls.inodes},mode=0755", flags)
    os.mkdir("run/tmp", 0o1777)
    os.chmod("run/tmp", 0o1777)
    syscalls.mount("run/tmp", "tmp", None, syscalls.MS_BIND)
    syscalls.umount("run", syscalls.MNT_DETACH)
    enter(".")
    bounds = os.statvfs("/tmp")
    size = os.sysconf("SC_PAGE_SIZE")
    bounded = bounds.f_blocks * bounds.f_frsize <= walls.disk_bytes + size and 0 < bounds.f_files <= walls.inodes
    if not bounded:
        raise OSError(f"/tmp has {bounds.f_blocks * bounds.f_frsize} bytes and {bounds.f_files} inodes: no bound")
    os.mkdir(workdir, 0o700)
    os.chown(workdir, *owner)
    return os.open(workdir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def narrow(walls: spec.Walls) -> None:
    """In the execution's own mount namespace: the guest's view of /proc over the sandbox's, and /tmp as it may have it.

    /proc is read-only and of its own pid namespace; where it shows more than processes, all but SHOWN is masked. Init
    still writes inputs to /tmp if the guest may not.
    """
    syscalls.mount("none", "/", None, syscalls.MS_REC | syscalls.MS_PRIVATE)
    options = PROC[:1] if walls.masked else PROC
    syscalls.mount("proc", "/proc", "proc", _INERT | syscalls.MS_RDONLY, ",".join(options))
    if walls.masked:
        for path in beside_processes():
            syscalls.mount(f"/{_EMPTY}" if os.path.isdir(path) else "/dev/null", path, None, syscalls.MS_BIND)
    if not walls.writable:
        syscalls.mount_setattr("/tmp", syscalls.MOUNT_ATTR_RDONLY)


def beside_processes() -> tuple[str, ...]:
    """What is in /proc and is no process, no link to one, and not in SHOWN."""
    names = sorted(name for name in os.listdir("/proc") if not name.isdigit() and name not in SHOWN)
    return tuple(f"/proc/{name}" for name in names if not os.path.islink(f"/proc/{name}"))


def enter(new_root: str) -> None:
    """pivot_root into `new_root` and detach the old root, which stays stacked over it for one call (pivot_root(2))."""
    os.chdir(new_root)
    syscalls.pivot_root(".", ".")
    syscalls.umount(".", syscalls.MNT_DETACH)
    os.chdir("/")
