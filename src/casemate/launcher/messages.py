"""What the processes of the trusted base say to one another, as frozen values. Units: seconds and bytes."""

from __future__ import annotations

from dataclasses import dataclass

GUEST_UID = 1000
"""The guest's uid and gid as it sees itself."""

CODE_ROOT = "/opt/casemate"
"""Where a room keeps the copy of our own code."""


@dataclass(frozen=True, slots=True)
class Template:
    """A zygote to start in a room; `warm` is "module:function", called once before any fork.

    `rehearse` is another ("" for none), called in a fork that ends after it: the pages that it writes are those that a
    job is going to write.
    """

    name: str
    warm: str
    rehearse: str


@dataclass(frozen=True, slots=True)
class Outer:
    """Who makes the outer wall: "native", which is ours, or an OCI runtime."""

    runtime: str
    command: str
    """The runtime's executable on the host; "" for ours."""
    version: str
    """As it says it."""
    seccomp: str
    """The room's filter, JSON as `linux.seccomp` of a bundle has it; "" for none."""


@dataclass(frozen=True, slots=True)
class Room:
    """Caller → keeper: make a room (the outer wall) of an image, with these templates."""

    kind = "room"
    id: str
    image: str
    """The image's root directory on the host."""
    site_packages: str
    """Where its packages are, as seen inside."""
    templates: tuple[Template, ...]
    outer: Outer


@dataclass(frozen=True, slots=True)
class Enclosed:
    """Keeper → first process of a room that an OCI runtime made: look at the wall, and say what is there."""

    kind = "enclosed"
    runtime: str
    outside: tuple[tuple[str, int], ...]
    """The keeper's namespaces, by name: none of the room's may be one of them."""


@dataclass(frozen=True, slots=True)
class GuestJob:
    """What the guest's entry function is given. `gate` None: no gate runs (plain programs; tests)."""

    id: str
    stage: str
    gate: str | None
    workdir: str
    inputs: tuple[str, ...]
    address_space: int
    address_space_after: int
    cpu_after: int
    budgets: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Walls:
    """The inner wall of one sandbox: its one tmpfs, its rlimits, its filter, and what it may see and do."""

    disk_bytes: int
    inodes: int
    open_files: int
    file_size: int
    address_space: int
    """Bytes above what the template has."""
    data: int
    processes: int
    cpu_seconds: int
    seccomp: str
    """The compiled BPF program, base64."""
    landlock: bool
    """True: refuse without it."""
    writable: bool
    """False: /tmp is read-only for the guest."""
    exec_image: bool
    """Programs of the image may be executed."""
    exec_writable: bool
    """So may what the guest has written."""
    sockets: bool
    """Sockets and FIFOs may have names in what is writable."""
    loopback: bool
    """True: up, and TCP is not refused by Landlock."""
    pty: bool
    masked: bool
    """What of /proc is not a process: True: what shell tools read, all else masked. False: nothing."""
    environment: tuple[str, ...]
    """The guest's, NAME=value."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What the keeper holds an execution to."""

    wall: float
    gate: float
    """Seconds within which a gated run must have written its first record on `report`."""
    cpu: float
    memory: int
    processes: int
    cpus: float
    stdout: int
    stderr: int
    report: int
    kill_on_output: bool
    cgroup: bool
    """True: memory, pids and cpu controllers or no run."""


@dataclass(frozen=True, slots=True)
class Run:
    """Caller → keeper: one sandbox with one execution. Descriptors: stdin, then one per input."""

    kind = "run"
    id: str
    room: str
    template: str
    entry: str
    job: GuestJob
    walls: Walls
    bounds: Bounds
    gated: bool
    """True: the gate must have spoken within `bounds.gate` seconds."""
    deadline: float


@dataclass(frozen=True, slots=True)
class Demand:
    """Caller → keeper: jobs of this kind are about to come."""

    kind = "demand"
    room: str
    template: str
    walls: Walls
    bounds: Bounds


@dataclass(frozen=True, slots=True)
class Retire:
    """Caller → keeper: nothing new will be asked of this room; end it when its last execution is over."""

    kind = "retire"
    id: str


@dataclass(frozen=True, slots=True)
class Cancel:
    """Caller → keeper."""

    kind = "cancel"
    id: str


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer, and what was read back of it from the kernel."""

    name: str
    on: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Ready:
    """Keeper → caller: the room stands and its templates are warm."""

    kind = "ready"
    room: str
    layers: tuple[Layer, ...]


@dataclass(frozen=True, slots=True)
class Started:
    """Keeper → caller: the guest is locked down and about to see its first untrusted byte."""

    kind = "started"
    id: str


@dataclass(frozen=True, slots=True)
class Ended:
    """Keeper → caller: the facts of an execution, all of them seen from outside.

    Descriptors: what was kept of stdout, stderr and report (memfds), then the job directory if there was one.
    """

    kind = "ended"
    id: str
    reason: str
    limit: str
    exit_code: int
    signal: int
    wall: float
    teardown: float
    """Seconds from the verdict until nothing of it lived."""
    cpu: float
    memory_peak: int
    processes_peak: int
    disk_bytes: int
    """What stands in its writable places at the end (statvfs(3)); -1 if it had none."""
    refused: tuple[str, ...]
    stdout_total: int
    stderr_total: int
    report_total: int
    layers: tuple[Layer, ...]


@dataclass(frozen=True, slots=True)
class Fault:
    """Keeper → caller, zygote → keeper: our own failure; `id` is a run's or a room's."""

    kind = "fault"
    id: str
    message: str
    busy: bool = False
    """True: nothing is broken, there is only no room left."""
    begun: bool = True
    """False: not a byte of the job was read, so it may be tried again elsewhere."""
    refused: bool = False
    """True: what the profile names is not to be had on this host."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """Keeper → zygote: build a sandbox and its first execution.

    Descriptors: the init's end of its socket, then the cgroup.procs files to join.
    """

    kind = "sandbox"
    id: str
    slot: int
    """Which pair of uids of the room's range; -1 where there is one uid only."""
    workdir: str
    walls: Walls


@dataclass(frozen=True, slots=True)
class Inputs:
    """Keeper → init: put these files into the job directory. Descriptors: one for each name."""

    kind = "inputs"
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Placed:
    """Init → keeper: the inputs are there."""

    kind = "placed"
    id: str


@dataclass(frozen=True, slots=True)
class Standing:
    """Init → keeper: the inner wall stands. Descriptors: pidfds of init and of the execution's pid 1, job directory."""

    kind = "standing"
    id: str
    layers: tuple[Layer, ...]


@dataclass(frozen=True, slots=True)
class Guest:
    """Keeper → template: fork a guest into an execution, where it locks itself down and waits for a job.

    Descriptors: pidfd of the execution's pid 1, stdout, stderr, report, setup, then cgroup.procs files.
    """

    kind = "guest"
    id: str
    identity: bool
    """True: the guest has a uid of its own (root's walls)."""
    workdir: str
    walls: Walls


@dataclass(frozen=True, slots=True)
class Job:
    """Keeper → guest, on `setup`: the one job it is for. Descriptor: stdin."""

    kind = "job"
    entry: str
    job: GuestJob


@dataclass(frozen=True, slots=True)
class Prefault:
    """Keeper → guest, on `setup`: a core is idle; take copies of the pages that a job is going to write."""

    kind = "prefault"
    id: str


@dataclass(frozen=True, slots=True)
class Prefaulted:
    """Guest → keeper, on `setup`: done, or broken off because its job came."""

    kind = "prefaulted"
    id: str


@dataclass(frozen=True, slots=True)
class Locked:
    """Guest → keeper, on `setup`: locked down and waiting; what was read back."""

    kind = "locked"
    id: str
    layers: tuple[Layer, ...]


@dataclass(frozen=True, slots=True)
class Exited:
    """Template → keeper: a guest was reaped; `status` as in waitid(2): code or signal."""

    kind = "exited"
    id: str
    exit_code: int
    signal: int
    cpu: float


@dataclass(frozen=True, slots=True)
class Warm:
    """Template → keeper: warmed up, with its size (VmSize) and number of threads, and its own control socket."""

    kind = "warm"
    name: str
    layers: tuple[Layer, ...]
