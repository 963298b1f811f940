"""The file system of a room and of a sandbox.

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
import stat

from . import spec, syscalls

PREPARED = "/run/root"
DEVICES = ("null", "zero", "full", "random", "urandom")
_OVERLAY = syscalls.MS_RDONLY | syscalls.MS_NOSUID | syscalls.MS_NODEV
_INERT = syscalls.MS_NOSUID | syscalls.MS_NODEV | syscalls.MS_NOEXEC
_PROC = "hidepid=invisible,subset=pid"


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
    for name, target in (("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        os.symlink(target, f"{directory}/{name}")
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
    # One tmpfs for every writable place, so that its bounds hold for all of them together.
    _tmpfs("run", f"size={walls.disk_bytes},nr_inodes={walls.inodes},mode=0755")
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


def mount_guest_proc() -> None:
    """Mount the guest's view of /proc over the sandbox's: only its own pid namespace, only processes, read-only."""
    syscalls.mount("none", "/", None, syscalls.MS_REC | syscalls.MS_PRIVATE)
    syscalls.mount("proc", "/proc", "proc", _INERT | syscalls.MS_RDONLY, _PROC)


def enter(new_root: str) -> None:
    """pivot_root into `new_root` and detach the old root, which stays stacked over it for one call (pivot_root(2))."""
    os.chdir(new_root)
    syscalls.pivot_root(".", ".")
    syscalls.umount(".", syscalls.MNT_DETACH)
    os.chdir("/")


# What a mount must be, beside nosuid, which all but the device nodes must be.
_FLAGS = {
    "/": {"nodev"},
    "/tmp": {"nodev", "noexec"},
    "/proc": {"nodev", "noexec"},
    "/opt/casemate": {"nodev", "noexec"},
}


def verify_tree(
    expected: dict[str, str], read_only: tuple[str, ...], proc_options: frozenset[str] = frozenset()
) -> str:
    """Compare the mount table with `expected` (mount point → file system type, "" for any); returns what was read.

    The last mount on a point is the one in force. Raises OSError where something is mounted that should not be,
    is missing, or is writable though named in `read_only`.
    """
    found: dict[str, tuple[str, set[str], set[str]]] = {}
    with open("/proc/thread-self/mountinfo", encoding="utf-8") as file:
        for line in file:
            left, _, right = line.partition(" - ")
            parts = left.split(" ")
            kind, _, options = right.split(" ", 2)
            found[parts[4]] = (kind, set(parts[5].split(",")), set(options.strip().split(",")))
    if set(found) != set(expected):
        raise OSError(f"mount table: {sorted(set(found) ^ set(expected))} unexpected or missing")
    for point, kind in expected.items():
        if kind and found[point][0] != kind:
            raise OSError(f"{point}: {found[point][0]} is mounted, not {kind}")
        if "nosuid" not in found[point][1] and not point.endswith(tuple(_device_points())):
            raise OSError(f"{point}: not nosuid")
        missing = _FLAGS.get(point, set()) - found[point][1]
        if missing:
            raise OSError(f"{point}: not {', '.join(sorted(missing))}")
    if not proc_options <= found["/proc"][2]:
        raise OSError(f"/proc: not {', '.join(sorted(proc_options - found['/proc'][2]))}")
    for point in read_only:
        if "ro" not in found[point][1]:
            raise OSError(f"{point}: writable")
    for name in DEVICES:
        if not stat.S_ISCHR(os.stat(f"/dev/{name}").st_mode):
            raise OSError(f"/dev/{name}: not a device")
    return f"{len(found)} mounts, read-only: {' '.join(read_only)}"


def _device_points() -> set[str]:
    return {f"/dev/{name}" for name in DEVICES}


def sandbox_tree() -> dict[str, str]:
    """The mount table of a sandbox."""
    return {"/": "", "/dev": "tmpfs", "/opt/casemate": "tmpfs", "/proc": "proc", "/tmp": "tmpfs"} | dict.fromkeys(
        _device_points(), ""
    )


def room_tree() -> dict[str, str]:
    """The mount table of a room."""
    prepared = {PREPARED: "", f"{PREPARED}/dev": "tmpfs", f"{PREPARED}/opt/casemate": "tmpfs"}
    devices = dict.fromkeys((f"{PREPARED}{point}" for point in _device_points()), "")
    return sandbox_tree() | {"/run": "tmpfs"} | prepared | devices
