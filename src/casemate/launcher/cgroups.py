"""Control groups, v1 and v2, below the caller's own (cgroups(7); the kernel's admin-guide, cgroup-v2 and cgroup-v1).

On one host memory may be a v1 hierarchy of its own while an empty v2 tree is mounted beside it: where each controller
lives, `survey` finds out (`hierarchies`). A `Group` is one group in every hierarchy that is in use.

    OWN/casemate-KEEPER/room-N                       templates
    OWN/casemate-KEEPER/SANDBOX                      limits of the sandbox
    OWN/casemate-KEEPER/SANDBOX/init, …/exec-1       its processes (v2 allows none in an inner node)

A v2 tree needs delegation: the caller's group must offer the controllers, and must be ours to divide. Its own processes
then move into a leaf of it first ("no internal processes"); who starts a keeper from there, as every later one of the
same caller does, is taken to be in the group that was divided.

    OWN/casemate-callers                             v2: the caller, and what else was in OWN
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal

from .hierarchies import CALLERS, NEEDED, Hierarchy, Survey, look, read, survey

__all__ = [
    "LEAVES",
    "NEEDED",
    "OWN",
    "Group",
    "Survey",
    "divide",
    "keeper_directories",
    "keeper_group",
    "remove_tree",
    "survey",
]

LEAVES = ("init", "exec-1")
"""The groups in a sandbox's: its init with the execution's first process, and the guest."""
OWN = 2
"""Processes of ours in a sandbox's group, all the time: its init, and the execution's first process."""
SWAPS = "/proc/swaps"
PERIOD = 100_000
"""Microseconds of a CPU quota's period."""
_MOVES = 10
"""How often what runs in a group that is to be divided is moved on, if more of it comes up meanwhile."""


def _write(path: str, text: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


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

    def delegate(self) -> None:
        """Let whoever is in it divide it: marks it (v2) as systemd marks what it delegates."""
        for hierarchy, directory in self._directories.items():
            if hierarchy.version == 2:
                os.setxattr(directory, "user.delegate", b"1")

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
        """Bound memory (bytes, swap included), tasks and CPU (cores); raises OSError where swap would escape."""
        self._set("memory", "memory.limit_in_bytes", "memory.max", str(memory), str(memory))
        bounded = False
        for name, value in (("memory.memsw.limit_in_bytes", memory), ("memory.swap.max", 0)):
            for directory in self._directories.values():
                if os.path.exists(f"{directory}/{name}"):
                    _write(f"{directory}/{name}", str(value))
                    bounded = True
        if not bounded and len(read(SWAPS).splitlines()) > 1:  # a line of titles, then one for each device
            raise OSError("swap is on and this kernel does not bound it: swapoff -a, or swapaccount=1 at boot")
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
            quota, period = look(f"{path}/cpu.cfs_quota_us").strip(), look(f"{path}/cpu.cfs_period_us").strip()
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
        if path and (text := read(path)):
            return int(text) / 1e9
        path = self._file("cpu", "cpu.stat", "cpu.stat")
        for line in read(path).splitlines() if path else ():
            if line.startswith("usage_usec "):
                return int(line.split()[1]) / 1e6
        return -1.0

    def memory_used(self) -> int:
        """Bytes it is charged with now, or -1."""
        path = self._file("memory", "memory.usage_in_bytes", "memory.current")
        text = read(path).strip() if path else ""
        return int(text) if text.isdigit() else -1

    def memory_peak(self) -> int:
        """Bytes, or -1."""
        path = self._file("memory", "memory.max_usage_in_bytes", "memory.peak")
        text = read(path).strip() if path else ""
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
        text = read(path).strip() if path else ""
        return int(text) if text.isdigit() else -1

    def versions(self) -> tuple[int, ...]:
        """Of each hierarchy in use."""
        return tuple(h.version for h in self._directories)

    def processes(self) -> dict[str, tuple[frozenset[int], ...]]:
        """Of a sandbox's group: the pids in each of its LEAVES, by hierarchy."""
        return {
            name: tuple(
                frozenset(map(int, read(f"{directory}/{name}/cgroup.procs").split()))
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
            found.append(f"{controller} {read(path).strip() or '?'}")
        return ", ".join(found)

    def members(self) -> tuple[int, ...]:
        """Pids in it and below it, in any hierarchy; raises OSError where that cannot be read."""
        found: set[int] = set()
        for top in self._directories.values():
            for directory, _, _ in os.walk(top, onerror=_unless_gone):
                found.update(int(pid) for pid in read(f"{directory}/cgroup.procs").split())
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
    for line in read(path).splitlines() if path else ():
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


def divide(found: Survey) -> None:
    """As `keeper_group` begins: for one in a pid namespace, who cannot move those outside it that share its group."""
    for hierarchy in found.hierarchies:
        if hierarchy.version == 2 and not found.missing:
            _divide(hierarchy)


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
    passed = set(read(f"{own}/cgroup.subtree_control").split())
    if hierarchy.controllers <= passed:
        return
    wanted = " ".join(f"+{c}" for c in sorted(hierarchy.controllers))
    leaf = f"{own}/{CALLERS}"
    for left in reversed(range(_MOVES)):
        try:
            _write(f"{own}/cgroup.subtree_control", wanted)
            return
        except OSError as error:
            if error.errno != errno.EBUSY or not left:
                raise
        # There are processes in it, ours among them.
        with contextlib.suppress(FileExistsError):
            os.mkdir(leaf, 0o755)
        for pid in read(f"{own}/cgroup.procs").split():
            with contextlib.suppress(ProcessLookupError):
                _write(f"{leaf}/cgroup.procs", pid)
