"""The guest as the host's /proc shows it, while it waits to be seen (source.MARK): nothing inside can colour that."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from casemate.verify.canaries import PREFIX
from casemate.verify.source import MARK


def fields(pid: int) -> dict[str, str]:
    """Fields of /proc/PID/status, empty if the process is gone (proc_pid_status(5))."""
    with contextlib.suppress(OSError):
        lines = Path(f"/proc/{pid}/status").read_text("utf-8", "replace").splitlines()
        return {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}
    return {}


def in_namespace(kind: str, number: str) -> tuple[int, ...]:
    """Living processes in the namespace of this kind and inode number, wherever on the host."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{name}/ns/{kind}") == f"{kind}:[{number}]":
                    found.append(int(name))
    return tuple(pid for pid in found if not fields(pid).get("State", "Z").startswith(("Z", "X")))


@dataclass(frozen=True, slots=True)
class Look:
    """What a guest shows: `status` fields, targets of its descriptors, its memory map, and some single files."""

    pid: int
    status: dict[str, str]
    descriptors: tuple[str, ...]
    maps: str
    mounts: str
    files: dict[str, str]
    root: str
    namespaces: dict[str, str]
    above: tuple[int, ...]
    """The other processes of its user namespace: the sandbox's init, and the first of the execution."""
    others: dict[str, set[str]]
    """The same of this process and of the guest's parent, which is outside the sandbox."""
    null: frozenset[str]
    """Mount points that are the null device: masks."""

    def shows(self, trace: str, limits: Mapping[str, int]) -> str:
        """What matches a trace, "" if nothing.

        fd TEXT             a descriptor's target begins so
        files PATH          a descriptor is of a file other than that
        count N             it holds other than so many descriptors
        map TEXT            a mapping is named so
        status NAME VALUE   the field is not that value
        filters N           it has other than so many seccomp filters beside its template's
        file NAME VALUE     the text of the file in /proc/PID is not that value
        limit NAME          the rlimit is above `limits`
        ns KIND             it shares the namespace with us or with its parent
        proc OPTION, mount POINT OPTION     the mount lacks the option
        mount image         a mount names a directory of the host
        mounts rw           a mount can be written that should not be
        guest WHAT, cores all               see `_guest`
        above WHAT                          one of the processes above it is not as it was made: see `_changed`
        """
        kind, _, rest = trace.partition(" ")
        if kind == "fd":
            return next((f"it holds {found}" for found in self.descriptors if found.startswith(rest)), "")
        if kind == "files":
            return next((f"it holds {found}" for found in self.descriptors if found[0] == "/" and found != rest), "")
        if kind == "map":
            return f"it has {rest} mapped" if rest in self.maps else ""
        if kind == "count":
            return "" if len(self.descriptors) == int(rest) else f"it holds {', '.join(self.descriptors)}"
        if kind == "ns":
            return f"it is in the {rest} namespace of ours" if self.namespaces[rest] in self.others[rest] else ""
        if kind in ("proc", "mount", "mounts"):
            return self._mounted(kind, rest)
        if kind == "limit":
            return self._limit(rest, limits[rest])
        if kind in ("guest", "cores"):
            return self._guest(rest)
        if kind == "above":
            changed = [f"process {pid}: {what}" for pid in self.above if (what := _changed(pid, rest))]
            return "; ".join(changed) if self.above else "nothing is above it"
        if kind == "filters":
            template = fields(int(self.status["PPid"])).get("Seccomp_filters", "")
            more = int(self.status["Seccomp_filters"]) - int(template or 0)
            return "" if template and more == int(rest) else f"it has {more} filters more than its template, not {rest}"
        name, _, wanted = rest.partition(" ")
        found = (self.status if kind == "status" else self.files).get(name, "?")
        return "" if found == wanted else f"its {name} is {found!r}, not {wanted!r}"

    def _limit(self, name: str, most: int) -> str:
        for line in self.files["limits"].splitlines():
            if line.startswith(name):
                for value in line[len(name) :].split()[:2]:
                    if not value.isdigit() or int(value) > most:
                        return f"{name} is {value}, above {most}"
                return ""
        return f"no {name} is told"

    def _guest(self, what: str) -> str:
        uids, gids = self.status["Uid"].split(), self.status["Gid"].split()
        template = fields(int(self.status["PPid"])).get("Uid", "").split()[:1]
        above = [fields(pid).get("Uid", "").split()[:1] for pid in self.above]
        ours, inits = {"0", str(os.geteuid()), *template}, {uid for uids in above for uid in uids}
        unknown = not template or not all(above)  # one that is gone shares an id with nobody, which proves nothing
        wrong = {
            "uid": unknown or len(set(uids)) != 1 or bool({*ours, *inits}.intersection(uids)),
            "gid": unknown or len(set(gids)) != 1 or bool({*ours, *inits}.intersection(gids)),
            "init": unknown or not inits or bool({*inits, *template}.intersection(uids)),
            "groups": self.status["Groups"] != "",
            "map": any(int(row.split()[1]) == 0 for row in self.files["uid_map"].splitlines())
            or not self.files["uid_map"],
            "session": self.files["session"] != str(self.pid),
            "signals": bool((int(self.status["SigBlk"], 16) | int(self.status["SigIgn"], 16)) & ~_IGNORED),
            "all": self.status["Cpus_allowed_list"] != fields(os.getpid())["Cpus_allowed_list"],
        }[what]
        keys = ("Uid", "Gid", "Groups", "SigBlk", "SigIgn", "Cpus_allowed_list")
        told = ", ".join(f"{key} {self.status[key]!r}" for key in keys)
        return f"wrong {what}: {told}; those above it: {sorted(inits)}" if wrong else ""

    def _mounted(self, kind: str, rest: str) -> str:
        rows = [line.split() for line in self.mounts.splitlines()]
        # The last mount on a point is the one in force; options of the mount and, behind the dash, of the file system.
        options = {row[4]: {*row[5].split(","), *row[-1].split(",")} for row in rows}
        own = {row[4]: row[5].split(",") for row in rows}
        if kind == "mounts":
            found = [p for p in options if "ro" not in own[p] and not p.startswith(("/tmp", "/dev/"))]
            found = [p for p in found if p not in self.null]
            return f"writable: {', '.join(found)}" if found else ""
        if rest == "image":
            return "its mount table names the store" if "casemate/images" in self.mounts else ""
        point, _, option = ("/proc " + rest if kind == "proc" else rest).partition(" ")
        return "" if option in options.get(point, ()) else f"{point} is mounted without {option}"


def _changed(pid: int, what: str) -> str:
    """What is different of one of them, or what it tells.

    Its bound on open files, cores, nice value or tracer; whether its files in /proc are its own uid's, as those
    of what is dumpable are (proc(5)); canaries in one of those files.
    """
    if what.startswith("secret "):
        path = f"/proc/{pid}/{what.removeprefix('secret ')}"
        text = _read(path)
        return f"{path} cannot be read" if text == "?" else f"{path} holds {text!a}" if PREFIX in text else ""
    if what == "dumpable":
        try:
            owner, uid = os.stat(f"/proc/{pid}/environ").st_uid, fields(pid)["Uid"].split()[0]
        except (OSError, KeyError):
            return "it is gone"
        return f"its files in /proc are of its own uid {uid}" if str(owner) == uid else ""
    if what.startswith("open "):
        limits = _read(f"/proc/{pid}/limits").splitlines()
        bound = next((line.split()[3] for line in limits if line.startswith("Max open files")), "?")
        return f"Max open files is {bound}" if bound in ("?", what.removeprefix("open ")) else ""
    status, numbers = fields(pid), _numbers(pid)
    found, wanted = {
        "cores": (status.get("Cpus_allowed_list", "?"), fields(os.getpid())["Cpus_allowed_list"]),
        "nice": (numbers[16], _numbers(os.getpid())[16]),
        "tracer": (status.get("TracerPid", "?"), "0"),
    }[what]  # fmt: skip
    return f"{what} is {found}" if found != wanted else ""


def _numbers(pid: int) -> list[str]:
    """The fields of /proc/PID/stat behind the name (proc_pid_stat(5)): 3 session, 16 nice, 37 priority, 38 policy.

    All "?" for a process that is gone.
    """
    _, named, numbers = _read(f"/proc/{pid}/stat").rpartition(")")
    return numbers.split() if named else ["?"] * 50


_FILES = (
    "uid_map",
    "personality",
    "timers",
    "oom_score_adj",
    "timerslack_ns",
    "coredump_filter",
    "loginuid",
    "comm",
    "limits",
)
_IGNORED = 1 << 12 | 1 << 24 | 0b11 << 31
"""SIGPIPE and SIGXFSZ, which our own runner ignores; 32 and 33, which the C library keeps to itself (nptl(7))."""


def _read(path: str) -> str:
    try:
        return Path(path).read_text("utf-8", "replace").strip()
    except OSError:
        return "?"


def _targets(pid: int) -> Iterator[str]:
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            if name != str(MARK):
                yield os.readlink(f"/proc/{pid}/fd/{name}")


def take(pid: int) -> Look:
    """Look at a process; raises OSError if it is gone."""
    status = fields(pid)
    parent = int(status.get("PPid", "0")) or os.getpid()
    numbers = _numbers(pid)
    files = {name: _read(f"/proc/{pid}/{name}") for name in _FILES}
    own = _namespaces(pid)
    files |= {"session": numbers[3], "nice": numbers[16], "policy": numbers[38]}
    return Look(
        pid, status, tuple(_targets(pid)), _read(f"/proc/{pid}/maps"),
        _read(f"/proc/{pid}/mountinfo"), files, os.readlink(f"/proc/{pid}/root"),
        own, tuple(other for other in in_namespace("user", own["user"][6:-1]) if other != pid),
        {kind: {_namespaces(other)[kind] for other in (os.getpid(), parent)} for kind in KINDS}, _null(pid),
    )  # fmt: skip


def _null(pid: int) -> frozenset[str]:
    found = set()
    for line in _read(f"/proc/{pid}/mountinfo").splitlines():
        point = line.split()[4] if len(line.split()) > 4 else ""
        with contextlib.suppress(OSError):
            seen = os.stat(f"/proc/{pid}/root{point}")
            if stat.S_ISCHR(seen.st_mode) and seen.st_rdev == os.makedev(1, 3):
                found.add(point)
    return frozenset(found)


KINDS = ("user", "mnt", "net", "ipc", "uts", "pid", "cgroup")


def _namespaces(pid: int) -> dict[str, str]:
    return {name: os.readlink(f"/proc/{pid}/ns/{name}") for name in KINDS}


def namespace(pid: int, kind: str) -> str:
    """Which one a process is in, "" if it is gone."""
    with contextlib.suppress(OSError):
        return os.readlink(f"/proc/{pid}/ns/{kind}")
    return ""


def is_first(pid: int) -> bool:
    """Whether a process is pid 1 of its pid namespace."""
    return fields(pid).get("NSpid", "").split()[-1:] == ["1"]


def waiting(keeper: int) -> list[int]:
    """The guests below a keeper that wait to be seen, the oldest first."""
    marked = [int(name) for name in os.listdir("/proc") if name.isdigit() and _marked(name)]
    return sorted(pid for pid in marked if keeper in _ancestors(pid))


def _marked(pid: str) -> bool:
    with contextlib.suppress(OSError):
        mark = os.readlink(f"/proc/{pid}/fd/{MARK}")
        return mark.startswith("pipe:") and mark == os.readlink(f"/proc/{pid}/fd/1")
    return False


def sandboxed(keeper: int) -> list[int]:
    """What lives below a keeper in a sandbox: deeper in pid namespaces than its rooms are.

    The newest first: one that forks and ends has a new number each time.
    """
    depth = len(fields(keeper).get("NSpid", "").split()) + 2
    found = []
    for name in reversed(os.listdir("/proc")):
        if name.isdigit() and (status := fields(int(name))) and not status["State"].startswith(("Z", "X")):
            deep = len(status.get("NSpid", "").split()) >= depth
            if deep and keeper in _ancestors(int(name)):
                found.append(int(name))
    return sorted(found)


def _ancestors(pid: int) -> list[int]:
    found = []
    while pid > 1:
        found.append(pid := int(fields(pid).get("PPid", "0")))
    return found


def until_seen(keeper: int, seconds: float, over: Sequence[object], beside: frozenset[int] = frozenset()) -> int | None:
    """Wait for it; None once `over` holds something, or after so many seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and not over:
        if found := [pid for pid in waiting(keeper) if pid not in beside]:
            return found[0]
        time.sleep(0.005)
    return None


def release(pid: int) -> None:
    """Let it go on."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGUSR1)
