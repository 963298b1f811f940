"""What the keeper sees of a guest from outside, in the host's /proc, before it gives it a job.

The guest has told what it read back of itself. That is trusted code speaking, but of a process that was made by another
one in a namespace of its own; here the same things are compared from where nothing inside can reach.
"""

from __future__ import annotations

import functools
import os
import stat

from . import cgroups, spec

NAMESPACES = ("user", "mnt", "net", "ipc", "uts", "cgroup", "pid")
PF_EXITING = 0x4
_EMPTY = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")


class Unlike(RuntimeError):
    """A guest is not what it should be; says in what."""


def memory(pid: int, group: cgroups.Group | None) -> int:
    """Bytes that its cgroup is charged with, or that a process shares with no other (proc(5), smaps_rollup)."""
    if group is not None:
        return max(0, group.memory_used())
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        return sum(int(line.split()[1]) << 10 for line in file if line.startswith("Private_"))


def namespaces(pid: int) -> set[str]:
    """Those that a process is in; raises OSError if it is gone."""
    return {os.readlink(f"/proc/{pid}/ns/{name}") for name in NAMESPACES}


def stands(processes: tuple[int, int], workdir: int, sender: int) -> None:
    """That two descriptors are pidfds of a sandbox's init and of its execution's first process, who sent them.

    A peer can have a pidfd of whoever made its channel (SO_PEERPIDFD, unix(7)), and what these stand for is killed in
    the end. `sender` is the kernel's word. Raises Unlike, or OSError if one is gone.
    """
    init, first = processes
    if process_of(first) != sender or process_of(init) != _parent(sender) or process_of(first) != sender:
        raise Unlike("descriptors of other processes than the sandbox's own")
    if not stat.S_ISDIR(os.fstat(workdir).st_mode):
        raise Unlike("its job directory is none")


def process_of(pidfd: int) -> int:
    """The process that a pidfd stands for, negative if it is gone (proc_pid_fdinfo(5)); raises Unlike if it is none."""
    if not os.readlink(f"/proc/self/fd/{pidfd}").startswith(("pidfd:[", "anon_inode:[pidfd]")):
        raise Unlike("a descriptor that is no pidfd")
    with open(f"/proc/self/fdinfo/{pidfd}", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Pid:"))


def ending(pidfd: int) -> bool:
    """True once the process behind a pidfd has begun to end (proc_pid_stat(5), flags; linux/sched.h).

    A first process of a pid namespace ends only after all the others of it, so its pidfd tells of that last.
    """
    pid = process_of(pidfd)
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return bool(int(file.read().rpartition(")")[2].split()[6]) & PF_EXITING)
    except (FileNotFoundError, ProcessLookupError):
        return True


def _parent(pid: int) -> int:
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("PPid:"))


def examine(pid: int, group: cgroups.Group | None, uid: int, others: set[str]) -> tuple[spec.Layer, set[str]]:
    """The layer to report, and the guest's namespaces; `others` are those of rooms and of other live sandboxes.

    `uid` is the host uid that the guest must have. Raises Unlike, or OSError if it is gone.
    """
    status = _status(pid)
    for name in _EMPTY:
        if int(status[name][0], 16) != 0:
            raise Unlike(f"{name} is {status[name][0]}")
    if status["NoNewPrivs"] != ["1"] or status["Seccomp"] != ["2"]:
        raise Unlike("no_new_privs or seccomp is off")
    # It inherits the filters of a room that has one, or of a keeper that does.
    if _filters(status) <= _filters(_status(int(status["PPid"][0]))):
        raise Unlike("it has no filter that its template has not")
    if set(status["Uid"]) != {str(uid)}:
        raise Unlike(f"its uid is {status['Uid'][0]}, not {uid}")
    if status["Threads"] != ["1"]:
        raise Unlike(f"it has {status['Threads'][0]} threads")
    seen, ours = namespaces(pid), namespaces(os.getpid())
    if seen & ours:
        raise Unlike(f"shares {', '.join(sorted(seen & ours))} with the host")
    if seen & others:
        raise Unlike(f"shares {', '.join(sorted(seen & others))} with a room or another sandbox")
    if group is not None:
        _in_its_groups(pid, group)
    detail = f"uid {uid}, {len(seen)} namespaces of its own, no capability, seccomp"
    return spec.Layer("keeper.outside", True, detail), seen


def _status(pid: int) -> dict[str, list[str]]:
    """The words of each field of /proc/PID/status (proc_pid_status(5))."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        return {key: value.split() for key, _, value in (line.partition(":") for line in file)}


def _filters(status: dict[str, list[str]]) -> int:
    return int(status["Seccomp_filters"][0])


def examine_room(
    pid: int, monitor: int, group: cgroups.Group | None, uids: tuple[int, int] | None
) -> tuple[spec.Layer, ...]:
    """The layers of a room's first process that only the outside sees, where a runtime made the wall.

    It must descend from `monitor`, who ends it. Raises Unlike, or OSError if it is gone.
    """
    status = _status(pid)
    uid, gid = (uids[0], uids[0]) if uids else (os.geteuid(), os.getegid())
    if set(status["Uid"]) != {str(uid)} or set(status["Gid"]) != {str(gid)} or (uids and status["Groups"]):
        raise Unlike(f"its uid, gid and groups are {status['Uid'][0]}, {status['Gid'][0]}, {status['Groups']}")
    if status["NSpid"][1:] != ["1"]:
        raise Unlike("it is not the first process of a pid namespace below the host's")
    if status["NoNewPrivs"] != ["1"] or status["Seccomp"] != ["2"]:
        raise Unlike("no_new_privs or seccomp is off")
    seen, ours = namespaces(pid), namespaces(os.getpid())
    if seen & ours:
        raise Unlike(f"shares {', '.join(sorted(seen & ours))} with the host")
    above = pid
    while above not in (0, monitor):
        above = int(_status(above)["PPid"][0])
    if above != monitor:
        raise Unlike("it is no descendant of the process that is to end it")
    groups = [] if group is None else group.directories()
    for directory in groups:
        with open(f"{directory}/cgroup.procs", encoding="ascii") as file:
            if str(pid) not in file.read().split():
                raise Unlike(f"is not in {directory}")
    return (
        spec.Layer("room.cgroup", bool(groups), f"joined {len(groups)} hierarchies, by the keeper" if groups else ""),
        spec.Layer("room.identity", True, "own uid" if uids else "caller's uid"),
        spec.Layer("keeper.room", True, f"uid {uid}, {len(seen)} namespaces of its own, a child of the keeper's"),
    )


def _in_its_groups(pid: int, group: cgroups.Group) -> None:
    """The guest alone in exec-1, init and the execution's first process in init, in every hierarchy."""
    found = group.processes()
    if any(pids != {pid} for pids in found["exec-1"]) or any(len(pids) != 2 for pids in found["init"]):
        counts = {name: [len(pids) for pids in each] for name, each in found.items()}
        raise Unlike(f"is not in its cgroup: processes by hierarchy {counts}")


@functools.cache
def own_namespaces() -> frozenset[str]:
    """The keeper's, which never change."""
    return frozenset(os.readlink(f"/proc/self/ns/{name}") for name in NAMESPACES)
