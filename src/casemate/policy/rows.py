"""The rows of the boundary, table by table (docs/profiles.md): what each may say.

None has a default. What a row may say and this version cannot enforce stands in `policy/unbuilt.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from casemate.policy.limits import Count, Limits, Name, NotApplicable, Seconds, Stages, Table

Text = Annotated[str, StringConstraints(min_length=1)]
Variable = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}=[ -~]{0,1024}$")]
Directory = Annotated[str, StringConstraints(pattern=r"^(/[a-z0-9][a-z0-9._-]{0,63}){1,8}$")]
RequiredLayer = Literal["user-namespaces", "seccomp", "landlock", "cgroup-memory", "cgroup-pids", "cgroup-cpu"]
DegradedLayer = Literal["landlock", "cgroup-memory", "cgroup-pids", "cgroup-cpu"]


class ProfileRow(Table):
    """What this profile is."""

    name: Name
    version: Count
    description: Text


class Isolation(Table):
    """What may share a sandbox, who builds the outer wall, and which walls there are."""

    unit: Literal["execution", "task", "session", "user"]
    runtime: Literal["native", "crun", "runc", "runsc", "kata"]
    walls: Annotated[tuple[Literal["outer", "inner"], ...], Field(min_length=2, max_length=2)]


class Identity(Table):
    """Who the guest is; `own` means a host uid that no other live sandbox has, where the caller is root."""

    guest: Literal["own"]


class Filesystem(Table):
    """The image, what a job finds in its directory, where it may write, and whether it may execute from there."""

    image: Name
    start: Literal["empty", "snapshot"]
    writable: Annotated[tuple[Directory, ...], Field(max_length=8)]
    exec_writable: bool


class Network(Table):
    """`broker`: the outside is reached through the egress broker alone; the loopback is the sandbox's own."""

    egress: Literal["none", "broker"]
    loopback: Literal["down", "up"]


class Environment(Table):
    """The guest's whole environment, NAME=value."""

    variables: Annotated[tuple[Variable, ...], Field(max_length=64)]


class Secrets(Table):
    """Secrets that the guest may use by reference."""

    references: Annotated[tuple[Name, ...], Field(max_length=64)]


class Devices(Table):
    """Device nodes, and whether there are pseudo-terminals."""

    nodes: tuple[Literal["null", "zero", "full", "random", "urandom"], ...]
    pty: bool


class Proc(Table):
    """`pid`: the execution's own processes and nothing else; `masked`: what shell tools read, the rest is masked."""

    view: Literal["pid", "masked"]


class Kernel(Table):
    """The named system call set, and whether a kernel without Landlock is refused."""

    syscalls: Name
    landlock: Literal["required", "if-available"]


class Gate(Table):
    """The rule set of the AST allowlist; `none`: the source is run as it is."""

    rules: Literal["cad", "cad-minimal", "none"]


class Artifacts(Table):
    """Who vouches for files and facts: a second, clean sandbox; the script's own process; nobody, files are as left."""

    inspection: Literal["required", "claimed", "none"]


class Preview(Table):
    """Whether and how a job's output may be shown in a browser; `lifetime` of a link, in seconds."""

    allowed: bool
    authentication: Literal["required", "signed-link"] | NotApplicable
    scripts: Literal["refused", "allowed"] | NotApplicable
    origin: Literal["own", "shared"] | NotApplicable
    cookies: Literal["refused", "allowed"] | NotApplicable
    lifetime: Seconds | NotApplicable
    disposition: Literal["attachment", "inline"] | NotApplicable


class Lifecycle(Table):
    """Seconds that a sandbox may live, and whether a second execution of the same isolation unit may use it."""

    time_to_live: Seconds
    reuse: Literal["never", "within-unit"]


class Layers(Table):
    """What a host must have, what it may lack, and what is not held then: "ROW: text"."""

    required: tuple[RequiredLayer, ...]
    permitted_degraded: tuple[DegradedLayer, ...]
    not_held: tuple[Annotated[str, StringConstraints(pattern=r"^[a-z]+\.[a-z_]+: .")], ...]


class Rows(Table):
    """A profile's file."""

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

    def value(self, row: str) -> object:
        """What a row says."""
        table, _, key = row.partition(".")
        return getattr(getattr(self, table), key)


def tables() -> Iterator[tuple[str, type[Table]]]:
    """Each table's name and class, in the file's order."""
    for name, field in Rows.model_fields.items():
        assert isinstance(field.annotation, type)
        assert issubclass(field.annotation, Table)
        yield name, field.annotation


def names() -> tuple[str, ...]:
    """Every row's dotted name, in the file's order."""
    return tuple(f"{table}.{key}" for table, kind in tables() for key in kind.model_fields)
