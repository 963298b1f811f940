"""The rows of the boundary: what holds each property, where, and the layers that show it. Data, read by boundary.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from casemate.policy import Profile
from casemate.verify.tables import rows as r

TEMPLATE, INSPECT = "template", "inspect"
"""Stand for the template's layer, whichever it is, and for all those of the second sandbox."""
Say = Callable[[Profile], str]


@dataclass(frozen=True, slots=True)
class Mechanism:
    """What holds, where it is enforced, and the layers that must have been on for it."""

    what: Say
    where: str
    layers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One property of the boundary."""

    property: str
    mechanisms: tuple[Mechanism, ...]
    not_covered: str
    """Whatever holds: what this property does not mean."""
    rows: tuple[str, ...] = ()
    """Rows of a profile's `not_held` that are about it."""


def _m(what: str | Say, where: str, *layers: str) -> Mechanism:
    return Mechanism(what if callable(what) else _same(what), where, layers)


def _same(text: str) -> Say:
    return lambda _: text


_SIDE = "side channels through caches and timing; bugs of the kernel, which all sandboxes share"
GROUPED = ("room.cgroup", "init.cgroup", "guest.cgroup", "keeper.cgroup")
PERMITTED = {"guest.landlock": "landlock", **dict.fromkeys(GROUPED, "cgroup-memory")}
"""Layers that a profile may permit to be missing, by the name that it has for them."""


def _writes(profile: Profile) -> str:
    return f"writes {', '.join(profile.filesystem.writable)}" if profile.filesystem.writable else "writes nothing"


def _executes(profile: Profile) -> str:
    return "what it wrote can be executed" if profile.filesystem.exec_writable else "executes nothing"


def _environment(profile: Profile) -> str:
    names = ", ".join(text.partition("=")[0] for text in profile.environment.variables)
    return f"an environment of {names}" if names else "an empty environment"


def _devices(profile: Profile) -> str:
    return f"{len(profile.devices.nodes)} devices{' and terminals' if profile.devices.pty else ''}"


def _inspected(profile: Profile) -> str:
    inspection = profile.artifacts.inspection
    if inspection == "required":
        return "inspected, in a second sandbox with the same layers"
    return f"not inspected by a second sandbox: inspection is {inspection}"


BOUNDARY: tuple[Row, ...] = (
    Row(
        r.HOST_FILES,
        (
            _m("a mount namespace whose root is the image, read-only; nothing else of the host stays mounted",
               "both walls", "room.namespaces", "room.mounts", "init.namespaces", "init.mounts", "exec.namespaces",
               "exec.mounts", "guest.walls"),
            _m(lambda p: f"Landlock: reads the image, {_writes(p)}, {_executes(p)}", "the guest", "guest.landlock"),
            _m("no descriptor of the caller's or of the template's", "the guest", "guest.descriptors"),
        ),
        "what the image holds; " + _SIDE,
    ),
    Row(
        r.TENANTS,
        (
            _m("namespaces of every kind for each sandbox, compared from outside with all others", "keeper",
               "init.namespaces", "guest.walls", "keeper.outside"),
            _m("one tmpfs for each sandbox, gone with it", "inner wall", "init.mounts", "exec.mounts"),
            _m("as root, a host uid that no other live sandbox has", "both walls", "room.identity", "init.identity",
               "room.user", "init.user", "guest.uid"),
            _m("Landlock scopes for signals and abstract sockets, where the kernel has them", "the guest",
               "guest.landlock"),
        ),
        "forks of one template share its address layout and hash seed; " + _SIDE,
    ),
    Row(
        r.CREDENTIALS,
        (
            _m(lambda p: f"{_environment(p)}, as Python, C and the kernel's own block have it", "the guest",
               "guest.environment"),
            _m("no inherited descriptor", "the guest", "guest.descriptors"),
            _m("no file of the host's or of the user's in the tree", "both walls", "room.mounts", "init.mounts"),
            _m("no process outside can be traced or read", "the guest", "init.undumpable", "exec.undumpable",
               "exec.mounts", "guest.seccomp"),
        ),
        "secrets that the caller writes into the script or its inputs",
    ),
    Row(
        r.METADATA,
        (
            _m("a network namespace without a way out", "inner wall", "init.namespaces", "guest.walls"),
            _m(lambda p: f"no /sys; a read-only /proc, view {p.proc.view}", "inner wall", "exec.mounts"),
            _m("names and a cgroup path that tell nothing", "both walls", "room.hostname", "init.hostname",
               "room.cgroupns", "init.cgroupns"),
        ),
        "CPU model and features, which cpuid tells everybody; the numeric host uid in a mount's options",
    ),
    Row(
        r.CONTROL,
        (
            _m("keeper, init and template are in other pid namespaces, undumpable, with no socket to the guest",
               "keeper", "room.pid", "init.pid", "exec.pid", "init.undumpable", "exec.undumpable",
               "guest.descriptors"),
            _m("init and the execution's first process are another uid, with every signal at its default", "inner wall",
               "room.session", "init.session", "exec.session", "guest.uid"),
            _m("the template has one thread, and is frozen before it forks", "outer wall", "template"),
            _m("the guest looked at from outside before it gets a job", "keeper", "keeper.outside"),
        ),
        "a bug in the report's parser, the collector or the inspecting sandbox",
    ),
    Row(
        r.EGRESS,
        (
            _m(lambda p: f"egress {p.network.egress}, loopback {p.network.loopback}, {p.limits.sockets} sockets",
               "the guest", "guest.seccomp"),
            _m("a network namespace that holds a loopback and nothing else", "both walls", "room.namespaces",
               "room.loopback", "init.namespaces", "init.loopback", "guest.walls"),
            _m("Landlock: no TCP, where the kernel has it", "the guest", "guest.landlock"),
        ),
        "what goes out as the job's own result",
    ),
    Row(
        r.CPU,
        (
            _m(lambda p: f"cores: {p.limits.cpus:g}, by the cgroup", "keeper", *GROUPED),
            _m(lambda p: f"{p.limits.cpu_time:g} s of CPU time of the whole, by the cgroup", "keeper", *GROUPED),
            _m(lambda p: f"{p.limits.cpu_time:g} s of CPU time of each process, by RLIMIT_CPU", "the guest",
               "guest.limits"),
            _m("no call to change priority, policy or cores", "the guest", "guest.seccomp"),
        ),
        "contention for caches, memory and disk with other work on the same cores",
        ("limits.cpus", "limits.cpu_time"),
    ),
    Row(
        r.MEMORY,
        (
            _m(lambda p: f"{p.limits.memory:,} bytes by the cgroup, tmpfs and pipes too, no swap", "keeper", *GROUPED),
            _m(lambda p: f"{p.limits.address_space:,} bytes of address space above the template's", "the guest",
               "guest.limits"),
            _m(lambda p: f"{p.limits.stdout_bytes:,} and {p.limits.stderr_bytes:,} bytes kept of the streams", "keeper",
               "guest.descriptors"),
        ),
        "memory of the kernel that it charges to nobody",
        ("limits.memory",),
    ),
    Row(
        r.DISK,
        (
            _m(lambda p: f"one tmpfs of {p.limits.disk_bytes:,} bytes and {p.limits.inodes:,} inodes, {_writes(p)}",
               "inner wall", "init.mounts"),
            _m(lambda p: f"files of {p.limits.file_size:,} bytes, {p.limits.open_files} of them open", "the guest",
               "guest.limits"),
        ),
        "there is no disk behind it: what is written counts as memory",
    ),
    Row(
        r.PROCESSES,
        (
            _m(lambda p: f"{p.limits.processes} by the cgroup", "keeper", *GROUPED),
            _m("RLIMIT_NPROC, counted in the sandbox's own user namespace", "the guest", "guest.limits", "init.user"),
            _m("a pid namespace of its own, in which nobody else is", "inner wall", "exec.pid", "exec.mounts"),
            _m("a session of its own", "the guest", "guest.session"),
        ),
        "a user other than root shares one host uid, and so its count, among all sandboxes",
        ("limits.processes",),
    ),
    Row(
        r.TIME,
        (
            _m(lambda p: f"{p.limits.wall_time:g} s by the keeper's own monotonic clock", "keeper", "keeper.outside"),
            _m("no call that sets a clock, no time namespace", "the guest", "guest.seccomp"),
        ),
        "reading clocks: the guest can time what it sees",
    ),
    Row(
        r.SURVIVAL,
        (
            _m("the pid namespaces of init and of the execution take all that is in them along", "keeper", "init.pid",
               "exec.pid"),
            _m("the cgroup is killed, and seen to be empty before anything is told", "keeper", *GROUPED),
            _m("the room ends with its keeper, the keeper with its caller", "keeper", "room.pid", "room.session"),
        ),
        "empty cgroups after a keeper that was killed, until the next one starts",
    ),
    Row(
        r.REUSE,
        (
            _m(lambda p: f"isolation unit {p.isolation.unit}, reuse {p.lifecycle.reuse}: a fork and a tmpfs for each",
               "keeper", "init.mounts", "guest.uid", "guest.walls"),
            _m("the template never runs untrusted code", "outer wall", "template"),
            _m("no memory file, no System V object, no abstract name outlives its sandbox", "inner wall",
               "init.namespaces", "guest.seccomp"),
        ),
        "the template's address layout and hash seed, which all its forks have",
    ),
    Row(
        r.ARTIFACTS,
        (
            _m("taken by descriptor from a stopped sandbox, beneath its directory, without links", "keeper",
               "init.mounts"),
            _m(_inspected, "second sandbox", INSPECT),
        ),
        "what a delivered file means to the program that opens it",
        ("artifacts.inspection",),
    ),
    Row(
        r.KERNEL,
        (
            _m(lambda p: f"seccomp: the set {p.kernel.syscalls}, all else refused, other architectures killed",
               "the guest", "guest.seccomp"),
            _m("no capability in any set, securebits locked, no_new_privs", "the guest", "exec.capabilities",
               "guest.capabilities", "init.no_new_privs", "exec.no_new_privs", "guest.no_new_privs"),
            _m(lambda p: f"no set-id file; {_devices(p)}; {_executes(p)}", "both walls", "init.mounts", "exec.mounts"),
            _m("no core file, no locked memory, no message queue", "the guest", "room.rlimits", "init.rlimits",
               "guest.limits"),
        ),
        "bugs in the calls that remain; " + _SIDE,
    ),
    Row(
        r.IDENTITY,
        (
            _m("as root a block of host uids, two for each live sandbox; never the host's root", "both walls",
               "room.identity", "room.user", "init.identity", "init.user"),
            _m("uid and gid 1000 of its namespace, no groups", "the guest", "guest.uid", "guest.walls"),
            _m("the host uid compared from outside", "keeper", "keeper.outside"),
        ),
        "as an ordinary user there is one host uid for guest, init and all sandboxes",
    ),
)  # fmt: skip
