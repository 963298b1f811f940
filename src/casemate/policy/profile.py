"""A profile: every row of the boundary, written down (docs/profiles.md).

No row has a default and no unknown row is accepted, because a boundary that nobody wrote is an unknown boundary. A row
that says something which this version cannot enforce is refused when the profile is loaded, not when it is used.
"""

from __future__ import annotations

import hashlib
import tomllib
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from casemate.errors import PolicyError

Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,40}$")]
Count = Annotated[int, Field(gt=0, le=1 << 20)]
Bytes = Annotated[int, Field(gt=0, le=1 << 40)]
No = Annotated[bool, AfterValidator(lambda value: _never(value))]
Seconds = Annotated[float, Field(gt=0, le=86400)]


def _never(value: bool) -> bool:
    """A row that this version can only refuse; Literal[False] would take 0 for it."""
    if value:
        raise ValueError("only false is supported")
    return value


class _Rows(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ProfileRow(_Rows):
    """What this profile is."""

    name: Name
    version: Count
    description: str


class Isolation(_Rows):
    """Which walls there are, and what may share a sandbox."""

    unit: Literal["execution"]
    runtime: Literal["native"]
    walls: Annotated[tuple[Literal["outer", "inner"], ...], Field(min_length=2, max_length=2)]


class Identity(_Rows):
    """Who the guest is; `own` means a host uid that no other live sandbox has, where the caller is root."""

    guest: Literal["own"]


class Limits(_Rows):
    """Terminal limits end the job, refusing ones give it an errno. Seconds and bytes; threads are processes."""

    wall_time: Seconds
    cpu_time: Seconds
    cpus: Annotated[float, Field(ge=0.05, le=1024)]
    memory: Annotated[int, Field(ge=64 << 20, le=1 << 40)]
    processes: Annotated[int, Field(ge=2, le=1 << 20)]
    address_space: Bytes
    data: Bytes
    open_files: Annotated[int, Field(ge=16, le=1 << 20)]
    file_size: Bytes
    disk_bytes: Annotated[int, Field(ge=4 << 20, le=1 << 40)]
    inodes: Annotated[int, Field(ge=256, le=1 << 20)]
    sockets: Annotated[int, Field(ge=0, le=0)]
    stdout_bytes: Bytes
    stderr_bytes: Bytes
    report_bytes: Bytes
    output_overflow: Literal["cut", "kill"]
    source_bytes: Annotated[int, Field(gt=0, le=262_144)]
    upload_bytes: Bytes
    download_bytes: Bytes
    artifact_count: Annotated[int, Field(gt=0, le=100)]  # each is a descriptor of one message (unix(7), SCM_RIGHTS)
    artifact_bytes: Bytes
    artifact_total_bytes: Bytes


class Stages(_Rows):
    """Budgets inside the one wall clock: seconds, and for the gate bytes above the template's size."""

    gate: Seconds
    gate_memory: Bytes
    handover: Seconds
    step: Seconds
    facts: Seconds


class Filesystem(_Rows):
    """The image, what a job finds in its directory, and where it may write."""

    image: Name
    start: Literal["empty"]
    writable: Annotated[tuple[Literal["/tmp"], ...], Field(min_length=1, max_length=1)]
    exec_writable: No


class Network(_Rows):
    """Nothing: no interface but a loopback that is down."""

    egress: Literal["none"]
    loopback: Literal["down"]


class Environment(_Rows):
    """The guest's environment variables."""

    variables: Annotated[tuple[str, ...], Field(max_length=0)]


class Secrets(_Rows):
    """Secrets that the guest may use by reference."""

    references: Annotated[tuple[str, ...], Field(max_length=0)]


class Devices(_Rows):
    """Device nodes."""

    nodes: tuple[Literal["null", "zero", "full", "random", "urandom"], ...]
    pty: No


class Proc(_Rows):
    """How /proc looks: `pid` shows the execution's own processes and nothing else of the kernel."""

    view: Literal["pid"]


class Kernel(_Rows):
    """The named system call set, and whether a kernel without Landlock is refused."""

    syscalls: Name
    landlock: Literal["required", "if-available"]


class Gate(_Rows):
    """The rule set of the AST allowlist."""

    rules: Literal["cad", "cad-minimal"]


class Artifacts(_Rows):
    """`required`: files and facts come from a second, clean sandbox; `claimed`: from the script's own process."""

    inspection: Literal["required", "claimed"]


class Preview(_Rows):
    """Whether a job's output may be shown in a browser."""

    allowed: No


class Lifecycle(_Rows):
    """Seconds that a sandbox may live, and whether a second job may use it."""

    time_to_live: Seconds
    reuse: Literal["never"]


class Layers(_Rows):
    """What a host must have, what it may lack, and what this profile does not hold."""

    required: tuple[
        Literal["user-namespaces", "seccomp", "landlock", "cgroup-memory", "cgroup-pids", "cgroup-cpu"], ...
    ]
    permitted_degraded: tuple[Literal["landlock", "cgroup-memory", "cgroup-pids", "cgroup-cpu"], ...]
    not_held: tuple[Annotated[str, StringConstraints(min_length=1)], ...]


class Profile(_Rows):
    """A loaded profile; `digest` is the SHA-256 of the file's text."""

    profile: ProfileRow
    isolation: Isolation
    identity: Identity
    limits: Limits
    stages: Stages
    filesystem: Filesystem
    network: Network
    environment: Environment
    secrets: Secrets
    devices: Devices
    proc: Proc
    kernel: Kernel
    gate: Gate
    artifacts: Artifacts
    preview: Preview
    lifecycle: Lifecycle
    layers: Layers
    digest: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]

    @property
    def name(self) -> str:
        """The profile's name."""
        return self.profile.name

    @property
    def needs_cgroups(self) -> bool:
        """True if memory, pids and cpu must be held by a cgroup."""
        return any(layer.startswith("cgroup-") for layer in self.layers.required)


_CGROUP = {"cgroup-memory", "cgroup-pids", "cgroup-cpu"}
_DEVICES = ("null", "zero", "full", "random", "urandom")


def parse(text: str, origin: str) -> Profile:
    """Load a profile from its text; `origin` names the file in errors. Raises PolicyError with every fault found."""
    try:
        rows = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"{origin}: {error}") from None
    if "digest" in rows:
        raise PolicyError(f"{origin}: digest is computed, not written")
    rows["digest"] = hashlib.sha256(text.encode()).hexdigest()
    try:
        profile = Profile.model_validate(_tuples(rows))
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(str(p) for p in e['loc'])}: {e['msg']}" for e in error.errors())
        raise PolicyError(f"{origin}: {faults}") from None
    if contradictions := _contradictions(profile):
        raise PolicyError(f"{origin}: {'; '.join(contradictions)}")
    return profile


def _tuples(value: object) -> object:
    """TOML gives lists; a frozen profile holds tuples."""
    if isinstance(value, dict):
        return {key: _tuples(item) for key, item in value.items()}
    if isinstance(value, list):
        return tuple(_tuples(item) for item in value)
    return value


def _contradictions(profile: Profile) -> list[str]:
    limits, layers = profile.limits, profile.layers
    required, permitted = set(layers.required), set(layers.permitted_degraded)
    faults = []
    if required & permitted:
        faults.append(f"layers: {sorted(required & permitted)} both required and permitted to be missing")
    if not {"user-namespaces", "seccomp"} <= required:
        faults.append("layers.required: user-namespaces and seccomp cannot be left out")
    if required & _CGROUP not in (set(), _CGROUP) or permitted & _CGROUP not in (set(), _CGROUP):
        faults.append("layers: the three cgroup controllers go together")
    if not required & _CGROUP and not permitted & _CGROUP:
        faults.append("layers: the cgroup controllers are neither required nor permitted to be missing")
    if not required & _CGROUP and not layers.not_held:
        faults.append("layers.not_held: what rlimits cannot hold must be named")
    if (profile.kernel.landlock == "required") != ("landlock" in required):
        faults.append("kernel.landlock and layers.required disagree")
    if profile.kernel.landlock == "if-available" and "landlock" not in permitted:
        faults.append("layers.permitted_degraded: landlock is neither required nor permitted to be missing")
    if sorted(profile.devices.nodes) != sorted(_DEVICES):
        faults.append(f"devices.nodes: a sandbox has {', '.join(_DEVICES)}, no more and no fewer")
    if limits.artifact_bytes > limits.artifact_total_bytes:
        faults.append("limits.artifact_bytes can never take effect: it is above artifact_total_bytes")
    if limits.disk_bytes < 2 * limits.artifact_total_bytes + (1 << 20):
        # The second sandbox holds what was handed over, what it writes of that, and its manifest.
        faults.append("limits.artifact_total_bytes: twice that and 1 MiB do not fit into disk_bytes")
    if limits.file_size > limits.disk_bytes:
        faults.append("limits.file_size can never take effect: it is above disk_bytes")
    stages = profile.stages
    if max(stages.gate, stages.handover, stages.step, stages.facts) > limits.wall_time:
        faults.append("stages: a budget above limits.wall_time can never take effect")
    if set(profile.isolation.walls) != {"outer", "inner"}:
        faults.append("isolation.walls: both walls, once each")
    if profile.lifecycle.time_to_live < limits.wall_time:
        faults.append("lifecycle.time_to_live is shorter than limits.wall_time")
    return faults
