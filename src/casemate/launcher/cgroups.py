"""Control groups, v1 and v2, below the caller's own (cgroups(7); the kernel's admin-guide, cgroup-v2 and cgroup-v1).

Where a controller lives is read from /proc/self/cgroup and /proc/self/mountinfo: on one host memory may be a v1
hierarchy of its own while an empty v2 tree is mounted beside it. `Tree` finds that out; `Group` is one group in every
hierarchy that is in use.

    OWN/casemate-KEEPER/room-N                       templates
    OWN/casemate-KEEPER/SANDBOX                      limits of the sandbox
    OWN/casemate-KEEPER/SANDBOX/init, …/exec-1       its processes (v2 allows none in an inner node)

A v2 tree needs delegation: the caller's group must offer the controllers, and must be ours to divide. Its own processes
then move into a leaf of it first ("no internal processes").
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import signal
from dataclasses import dataclass

NEEDED = ("memory", "pids", "cpu")
LEAVES = ("init", "exec-1")
"""The groups in a sandbox's: its init with the execution's first process, and the guest."""
OWN = 2
"""Processes of ours in a sandbox's group, all the time: its init, and the execution's first process."""
WANTED = ("memory", "pids", "cpu", "cpuacct")
PERIOD = 100_000
"""Microseconds of a CPU quota's period."""
_CALLERS = "casemate-callers"
"""The leaf of a divided v2 group in which its own processes are."""
_MOVES = 10
"""How often what runs in a group that is to be divided is moved on, if more of it comes up meanwhile."""


@dataclass(frozen=True)
class Hierarchy:
    """One mounted hierarchy: its controllers and the directory of the caller's own group."""

    version: int
    controllers: frozenset[str]
    own: str
    top: bool = False
    """True if `own` is the mounted root: a container's, or the host's."""


def parse(mountinfo: str, cgroup: str) -> tuple[Hierarchy, ...]:
    """The hierarchies that hold a process, from the text of its mountinfo and cgroup files."""
    groups: dict[frozenset[str], str] = {}
    unified = ""
    for line in cgroup.splitlines():
        number, controllers, path = line.split(":", 2)
        if number == "0" and not controllers:
            unified = path
        else:
            groups[frozenset(controllers.split(","))] = path
    found: list[Hierarchy] = []
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        fields, kind = left.split(" "), right.split(" ")
        root, point = _unescaped(fields[3]), _unescaped(fields[4])
        if kind[0] == "cgroup2" and unified and (own := _below(point, root, unified)):
            own = own.removesuffix(f"/{_CALLERS}")  # where an earlier keeper moved us to
            offered = _look(f"{own}/cgroup.controllers").split()
            found.append(Hierarchy(2, frozenset(offered), own, own == point))
        elif kind[0] == "cgroup":
            options = set(kind[2].split(","))
            for together, path in groups.items():
                if together <= options and (own := _below(point, root, path)):
                    found.append(Hierarchy(1, together, own))
    return tuple(found)


def _unescaped(path: str) -> str:
    """Mountinfo writes space, tab, newline and backslash as three octal digits (proc_pid_mountinfo(5))."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), path)


def _below(point: str, root: str, path: str) -> str:
    """Where the group `path` is, in a mount of the subtree `root` at `point`; "" if it is outside."""
    if path.startswith("/.."):
        return ""  # outside the root of our cgroup namespace (cgroup_namespaces(7))
    if root == "/":
        return (point + path).rstrip("/")
    if path == root or path.startswith(root + "/"):
        return point + path[len(root) :]
    return ""


def _read(path: str) -> str:
    """A control file's text, "" if it is not there or its group was removed meanwhile.

    Any other failure is an error: a counter that cannot be read is not 0, and a group that cannot be read not empty.
    """
    try:
        with open(path, encoding="ascii") as file:
            return file.read()
    except FileNotFoundError:
        return ""
    except OSError as error:
        if error.errno in (errno.ENODEV, errno.ENOTDIR):
            return ""
        raise


def _look(path: str) -> str:
    """As `_read`, of groups that are not ours: what is not for us to read is not there."""
    try:
        return _read(path)
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.EACCES):
            return ""
        raise


def _write(path: str, text: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


@dataclass(frozen=True)
class Survey:
    """What the caller's place in the cgroup file systems allows; `missing` says why a controller is not there."""

    hierarchies: tuple[Hierarchy, ...]
    missing: tuple[tuple[str, str], ...]

    def version(self, controller: str) -> int:
        """1, 2, or 0 if the controller is not to be had."""
        return next((h.version for h in self.hierarchies if controller in h.controllers), 0)


def survey(mountinfo: str | None = None, cgroup: str | None = None) -> Survey:
    """Find the controllers and see whether we may make groups; changes nothing."""
    hierarchies = parse(
        _read("/proc/self/mountinfo") if mountinfo is None else mountinfo,
        _read("/proc/self/cgroup") if cgroup is None else cgroup,
    )
    usable, missing = [], []
    for hierarchy in hierarchies:
        useful = hierarchy.controllers.intersection(WANTED)
        if useful and (hierarchy.version == 1 or _delegated(hierarchy)) and _writable(hierarchy.own):
            usable.append(Hierarchy(hierarchy.version, useful, hierarchy.own, hierarchy.top))
    for controller in NEEDED:
        if not any(controller in h.controllers for h in usable):
            version = next((h.version for h in hierarchies if controller in h.controllers), 0)
            missing.append((controller, _REASONS[version]))
    return Survey(tuple(usable), tuple(missing))


_REASONS = {
    0: "no mounted cgroup hierarchy offers it to this process; remedy: a kernel and container runtime that do",
    1: "the cgroup (v1) that this process is in is not ours to divide; remedy: run as root, or in a group that an"
    " administrator has given to this user (chown of the directory and its cgroup.procs)",
    2: "the cgroup (v2) that this process is in is not ours to divide; remedy: run under delegation, for instance"
    " `systemd-run --user --scope -p Delegate=yes casemate …`, or a service with Delegate=yes",
}


def _writable(own: str) -> bool:
    return os.access(own, os.W_OK) and os.access(f"{own}/cgroup.procs", os.W_OK)


def _delegated(hierarchy: Hierarchy) -> bool:
    """Whether a v2 group is ours to divide: said so by systemd, owned by us as a user, or a container's root."""
    if hierarchy.top or hierarchy.controllers.intersection(WANTED) <= set(
        _look(f"{hierarchy.own}/cgroup.subtree_control").split()
    ):
        return True
    for name in ("trusted.delegate", "user.delegate"):
        with contextlib.suppress(OSError):
            if os.getxattr(hierarchy.own, name) == b"1":
                return True
    with contextlib.suppress(OSError):
        return os.geteuid() != 0 and os.stat(hierarchy.own).st_uid == os.geteuid()
    return False


class Group:
    """One group, in every hierarchy in use; directory names are ours, never a caller's text."""

    def __init__(self, name: str, directories: dict[Hierarchy, str]) -> None:
        self.name = name
        self._directories = directories

    def directories(self) -> tuple[str, ...]:
        """Every directory of the group."""
        return tuple(self._directories.values())

    def child(self, name: str, *, inner: bool = False) -> Group:
        """Make a group below this one; `inner` groups pass their controllers on (v2) and hold no process."""
        made: dict[Hierarchy, str] = {}
        for hierarchy, directory in self._directories.items():
            path = f"{directory}/{name}"
            os.mkdir(path, 0o755)
            made[hierarchy] = path
            if inner and hierarchy.version == 2:
                _write(f"{path}/cgroup.subtree_control", " ".join(f"+{c}" for c in sorted(hierarchy.controllers)))
        return Group(name, made)

    def _file(self, controller: str, v1: str, v2: str) -> str | None:
        for hierarchy, directory in self._directories.items():
            if controller in hierarchy.controllers:
                return f"{directory}/{v1 if hierarchy.version == 1 else v2}"
        return None

    def _set(self, controller: str, v1: str, v2: str, text1: str, text2: str) -> None:
        path = self._file(controller, v1, v2)
        if path is None:
            raise OSError(f"no {controller} controller")
        _write(path, text2 if path.endswith(f"/{v2}") else text1)

    def limit(self, *, memory: int, processes: int, cpus: float) -> None:
        """Bound memory (bytes, swap included), tasks and CPU (cores)."""
        self._set("memory", "memory.limit_in_bytes", "memory.max", str(memory), str(memory))
        for name, value in (("memory.memsw.limit_in_bytes", memory), ("memory.swap.max", 0)):
            for directory in self._directories.values():
                if os.path.exists(f"{directory}/{name}"):
                    _write(f"{directory}/{name}", str(value))
        self._set("pids", "pids.max", "pids.max", str(processes), str(processes))
        quota = int(cpus * PERIOD)
        try:
            self._set("cpu", "cpu.cfs_quota_us", "cpu.max", str(quota), f"{quota} {PERIOD}")
        except OSError as error:
            # v1 refuses a share above an ancestor's; then the ancestor holds it to less than was asked.
            if error.errno != errno.EINVAL or not self._held_above(cpus):
                raise

    def _held_above(self, cpus: float) -> bool:
        path = self._file("cpu", "", "")
        while path and len(path := os.path.dirname(path)) > 1:
            quota, period = _look(f"{path}/cpu.cfs_quota_us").strip(), _look(f"{path}/cpu.cfs_period_us").strip()
            if not period:
                return False
            if quota.isdigit() and int(quota) / int(period) < cpus:
                return True
        return False

    def open_procs(self) -> tuple[int, ...]:
        """Write-only descriptors of its cgroup.procs files; a "0" written there moves the writer in."""
        return tuple(os.open(f"{d}/cgroup.procs", os.O_WRONLY | os.O_CLOEXEC) for d in self._directories.values())

    def cpu_seconds(self) -> float:
        """CPU time of everything that was ever in it, or -1 where nothing counts it."""
        path = self._file("cpuacct", "cpuacct.usage", "")
        if path and (text := _read(path)):
            return int(text) / 1e9
        path = self._file("cpu", "cpu.stat", "cpu.stat")
        for line in _read(path).splitlines() if path else ():
            if line.startswith("usage_usec "):
                return int(line.split()[1]) / 1e6
        return -1.0

    def memory_used(self) -> int:
        """Bytes it is charged with now, or -1."""
        path = self._file("memory", "memory.usage_in_bytes", "memory.current")
        text = _read(path).strip() if path else ""
        return int(text) if text.isdigit() else -1

    def memory_peak(self) -> int:
        """Bytes, or -1."""
        path = self._file("memory", "memory.max_usage_in_bytes", "memory.peak")
        text = _read(path).strip() if path else ""
        return int(text) if text.isdigit() else -1

    def oom_kills(self) -> int:
        """How many processes the kernel killed for want of memory, here or below."""
        path = self._file("memory", "memory.oom_control", "memory.events")
        return _events(path, "oom_kill", local=path is not None and path.endswith("oom_control"))

    def refused_forks(self) -> int:
        """How often pids.max said no."""
        path = self._file("pids", "pids.events", "pids.events")
        return _events(path, "max", local=True)

    def processes_peak(self) -> int:
        """Most tasks at once, or -1."""
        path = self._file("pids", "pids.peak", "pids.peak")
        text = _read(path).strip() if path else ""
        return int(text) if text.isdigit() else -1

    def versions(self) -> tuple[int, ...]:
        """Of each hierarchy in use."""
        return tuple(h.version for h in self._directories)

    def processes(self) -> dict[str, tuple[frozenset[int], ...]]:
        """Of a sandbox's group: the pids in each of its LEAVES, by hierarchy."""
        return {
            name: tuple(
                frozenset(map(int, _read(f"{directory}/{name}/cgroup.procs").split()))
                for directory in self._directories.values()
            )
            for name in LEAVES
        }

    def limits(self) -> str:
        """Its limits as the kernel has them, for people."""
        wanted = {"memory": ("memory.limit_in_bytes", "memory.max"), "pids": ("pids.max", "pids.max")}
        wanted["cpu"] = ("cpu.cfs_quota_us", "cpu.max")
        found = []
        for controller, (v1, v2) in wanted.items():
            path = self._file(controller, v1, v2)
            if path is None:
                raise OSError(f"no {controller} controller")
            found.append(f"{controller} {_read(path).strip() or '?'}")
        return ", ".join(found)

    def members(self) -> tuple[int, ...]:
        """Pids in it and below it, in any hierarchy; raises OSError where that cannot be read."""
        found: set[int] = set()
        for top in self._directories.values():
            for directory, _, _ in os.walk(top, onerror=_unless_gone):
                found.update(int(pid) for pid in _read(f"{directory}/cgroup.procs").split())
        return tuple(sorted(found))

    def kill(self) -> None:
        """SIGKILL all in it and below it: with `cgroup.kill` at once, else one by one, and the caller repeats."""
        for hierarchy, directory in self._directories.items():
            if hierarchy.version == 2 and os.path.exists(f"{directory}/cgroup.kill"):
                _write(f"{directory}/cgroup.kill", "1")
                return
        for pid in self.members():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def remove(self) -> bool:
        """Remove it with all below it; False if something is still in there."""
        gone = [remove_tree(directory) for directory in self._directories.values()]
        return all(gone)


def _unless_gone(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error


def _events(path: str | None, name: str, *, local: bool) -> int:
    """An event counter; with `local`, the kernel counts where the task was, so those one level down are added."""
    if path is None:
        return 0
    total = _field(path, name)
    if local:
        directory, file = os.path.split(path)
        with contextlib.suppress(FileNotFoundError), os.scandir(directory) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    total += _field(f"{entry.path}/{file}", name)
    return total


def _field(path: str | None, name: str) -> int:
    for line in _read(path).splitlines() if path else ():
        key, _, value = line.partition(" ")
        if key == name:
            return int(value)
    return 0


def remove_tree(directory: str) -> bool:
    """rmdir a group and those below it, deepest first; False if one is busy."""
    try:
        for path, _, _ in os.walk(directory, topdown=False):
            os.rmdir(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def keeper_directories(found: Survey, name: str) -> tuple[str, ...]:
    """What `keeper_group` is going to make."""
    return () if found.missing else tuple(f"{hierarchy.own}/{name}" for hierarchy in found.hierarchies)


def keeper_group(found: Survey, name: str) -> Group | None:
    """Make the keeper's own group below the caller's; None where there is no controller to use."""
    if found.missing:
        return None
    directories: dict[Hierarchy, str] = {}
    for hierarchy in found.hierarchies:
        if hierarchy.version == 2:
            _divide(hierarchy)
        path = f"{hierarchy.own}/{name}"
        os.mkdir(path, 0o755)
        directories[hierarchy] = path
        if hierarchy.version == 2:
            _write(f"{path}/cgroup.subtree_control", " ".join(f"+{c}" for c in sorted(hierarchy.controllers)))
    return Group(name, directories)


def _divide(hierarchy: Hierarchy) -> None:
    """Let a delegated v2 group pass its controllers on: what runs in it moves into a leaf first."""
    own = hierarchy.own
    passed = set(_read(f"{own}/cgroup.subtree_control").split())
    if hierarchy.controllers <= passed:
        return
    wanted = " ".join(f"+{c}" for c in sorted(hierarchy.controllers))
    try:
        _write(f"{own}/cgroup.subtree_control", wanted)
        return
    except OSError:
        pass  # EBUSY: there are processes in it, ours among them
    leaf = f"{own}/{_CALLERS}"
    with contextlib.suppress(FileExistsError):
        os.mkdir(leaf, 0o755)
    for left in reversed(range(_MOVES)):
        for pid in _read(f"{own}/cgroup.procs").split():
            with contextlib.suppress(ProcessLookupError):
                _write(f"{leaf}/cgroup.procs", pid)
        try:
            _write(f"{own}/cgroup.subtree_control", wanted)
            return
        except OSError as error:
            # One that was not moved yet has forked meanwhile: the child is where its parent was.
            if error.errno != errno.EBUSY or not left:
                raise
