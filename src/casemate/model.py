"""Frozen values that cross zones. Standard library only: a copy of this file goes into every room.

Units: seconds for durations, bytes for sizes, millimetres (mm², mm³) for geometry.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal


class Reason(StrEnum):
    """Why an execution ended, told from outside it (docs/results.md)."""

    EXITED = "exited"
    SIGNALED = "signaled"
    LIMIT = "limit"
    POLICY = "policy"
    CANCELLED = "cancelled"
    LOST = "lost"


class Limit(StrEnum):
    """Terminal limits: each ends the job and is named by the keeper or by the runtime's own counters."""

    WALL_TIME = "wall_time"
    CPU_TIME = "cpu_time"
    MEMORY = "memory"
    STDOUT_BYTES = "stdout_bytes"
    STDERR_BYTES = "stderr_bytes"
    REPORT_BYTES = "report_bytes"
    UPLOAD_BYTES = "upload_bytes"
    ARTIFACT_COUNT = "artifact_count"
    ARTIFACT_BYTES = "artifact_bytes"
    ARTIFACT_TOTAL_BYTES = "artifact_total_bytes"
    SOURCE_BYTES = "source_bytes"


class Stage(StrEnum):
    """What was going on when the job ended."""

    GATE = "gate"
    SCRIPT = "script"
    HANDOVER = "handover"
    STEP = "step"
    FACTS = "facts"
    DONE = "done"


class Verdict(StrEnum):
    """What became of a CAD job's geometry; a negative volume (reversed solid) counts as `zero_volume` and says so."""

    PART = "part"
    NO_RESULT = "no_result"
    NO_SOLID = "no_solid"
    INVALID = "invalid"
    ZERO_VOLUME = "zero_volume"
    NOT_FINITE = "not_finite"
    WRITER_FAILED = "writer_failed"
    INSPECTOR_FAILED = "inspector_failed"


@dataclass(frozen=True, slots=True)
class Denial:
    """One refusal of the gate.

    `line` counts from 1, `column` from 0 in characters; both are 0 when the whole source is meant.
    """

    code: str
    message: str
    line: int = 0
    column: int = 0
    node: str = ""
    name: str = ""
    source_line: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that a caller should know and that stopped nothing (an erased import, a guessed result)."""

    code: str
    message: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class ScriptError:
    """A Python exception of the script, as the script's own process claims it."""

    type: str
    message: str
    line: int = 0
    source_line: str = ""
    function: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Why and where a job ended; `exit_code` and `signal` come from waitid, never from what the job printed."""

    reason: Reason
    stage: Stage
    limit: Limit | None = None
    verdict: Verdict | None = None
    exit_code: int | None = None
    signal: int | None = None
    message: str = ""
    denials: tuple[Denial, ...] = ()
    error: ScriptError | None = None

    @property
    def ok(self) -> bool:
        """True if the program exited with 0 and, for a CAD job, left a part."""
        return self.reason is Reason.EXITED and self.exit_code == 0 and self.verdict in (None, Verdict.PART)


@dataclass(frozen=True, slots=True)
class Stream:
    """A captured stream: `data` is kept up to the bound, `total` counts every byte that was written."""

    data: bytes
    total: int
    truncated: bool

    @property
    def text(self) -> str:
        """The kept bytes as UTF-8, undecodable ones replaced by U+FFFD."""
        return self.data.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Facts:
    """Geometry of one part as the second stage measured it on the STEP that it re-read (mm, mm², mm³).

    With claimed inspection as the script's own process measured the shape, before or after forging it.
    """

    volume: float
    area: float
    bounding_box: tuple[float, float, float, float, float, float]
    """xmin, ymin, zmin, xmax, ymax, zmax."""
    center_of_mass: tuple[float, float, float]
    solids: int
    shells: int
    faces: int
    edges: int
    valid: bool
    closed: bool
    """Whether it has a shell and every shell is closed; with `valid` it is watertight."""
    holes: int
    """Axes of round inner faces that go all the way around: a counterbored hole is one, a slot or a fillet none."""
    symmetric: Literal["", "x", "y", "z", "xy", "xz", "yz", "xyz"]
    """Axes across whose middle plane (of the bounding box) the mass is mirrored, to second moments."""


@dataclass(frozen=True, slots=True)
class Part:
    """One thing that the script gave: its name, the artifact that holds it, and its facts if it was measured."""

    name: str
    verdict: Verdict
    artifact: str | None = None
    facts: Facts | None = None
    source: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file that left a sandbox by descriptor, with its SHA-256."""

    name: str
    data: bytes = field(repr=False)
    sha256: str

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self.data)


@dataclass(frozen=True, slots=True)
class Usage:
    """What the job used, from the cgroup and the keeper's clock; None where no counter outside exists here."""

    wall: float
    cpu: float | None
    memory_peak: int | None
    processes_peak: int | None
    teardown: float | None = None
    """Seconds from the verdict until nothing of it lived: the longest of its sandboxes."""
    stages: tuple[tuple[str, float], ...] = ()
    """Seconds by stage; those of `script` and `handover` are the script process's own claim."""
    refused: tuple[str, ...] = ()
    disk_bytes: int | None = None
    """What stood in the writable places at the end, inputs too: the most of its sandboxes."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer of the boundary and what was read back of it from the kernel."""

    name: str
    on: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Enforcement:
    """Which layers were really on, read back, and which the profile permits to be missing."""

    profile: str
    profile_digest: str
    image_digest: str
    layers: tuple[Layer, ...]
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunResult:
    """Everything one job gave."""

    id: str
    outcome: Outcome
    stdout: Stream
    stderr: Stream
    parts: tuple[Part, ...]
    artifacts: dict[str, Artifact]
    usage: Usage
    enforcement: Enforcement
    trusted: bool
    """Whether files and facts come from a clean sandbox (`artifacts.inspection = "required"`)."""
    warnings: tuple[Notice, ...] = ()

    @property
    def ok(self) -> bool:
        """See `Outcome.ok`."""
        return self.outcome.ok
