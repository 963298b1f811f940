"""What `--json` prints of runs, images and the host: the values of `casemate.model` without their bytes.

Other commands have their documents in a file of their own, so that none imports what another needs; `schema` has all.
"""

from __future__ import annotations

import dataclasses
import enum
import json
import math
from dataclasses import dataclass

from casemate.model import Denial, Enforcement, Notice, Outcome, Part, RunResult, Stream, Usage


@dataclass(frozen=True, slots=True)
class StreamDocument:
    """A captured stream as text; undecodable bytes are U+FFFD."""

    text: str
    total: int
    truncated: bool


@dataclass(frozen=True, slots=True)
class ArtifactDocument:
    """A file that was delivered; `path` is where it was written, null without `--out`."""

    size: int
    sha256: str
    path: str | None


@dataclass(frozen=True, slots=True)
class RunDocument:
    """`casemate run`."""

    id: str
    ok: bool
    outcome: Outcome
    stdout: StreamDocument
    stderr: StreamDocument
    parts: tuple[Part, ...]
    artifacts: dict[str, ArtifactDocument]
    usage: Usage
    enforcement: Enforcement
    trusted: bool
    warnings: tuple[Notice, ...]
    exit_status: int


@dataclass(frozen=True, slots=True)
class CheckDocument:
    """`casemate check`."""

    admitted: bool
    denials: tuple[Denial, ...]
    outcome: Outcome
    warnings: tuple[Notice, ...]
    exit_status: int


@dataclass(frozen=True, slots=True)
class ImageDocument:
    """`casemate image build` and `casemate image show`."""

    name: str
    digest: str
    root: str
    created: str
    python: str
    exit_status: int


@dataclass(frozen=True, slots=True)
class LayerDocument:
    """One layer of this host; `reason` says why it is not there and what to do."""

    name: str
    available: bool
    reason: str


@dataclass(frozen=True, slots=True)
class ProfileDocument:
    """Whether this host can enforce a profile."""

    name: str
    enforceable: bool
    reason: str
    degraded: tuple[str, ...]
    not_held: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RuntimeDocument:
    """An OCI runtime that a profile can name; `lacks`: layers that its outer wall cannot give, each with the reason."""

    name: str
    command: str
    version: str
    reason: str
    """Why it cannot be used, "" if it can."""
    lacks: dict[str, str]


@dataclass(frozen=True, slots=True)
class DoctorDocument:
    """`casemate doctor`."""

    host: dict[str, str]
    layers: tuple[LayerDocument, ...]
    runtimes: tuple[RuntimeDocument, ...]
    profiles: tuple[ProfileDocument, ...]
    images: dict[str, str]
    strongest: str | None
    exit_status: int


@dataclass(frozen=True, slots=True)
class DemoDocument:
    """`casemate demo`: one run for each example."""

    profile: str
    runs: dict[str, RunDocument]
    exit_status: int


@dataclass(frozen=True, slots=True)
class ErrorDocument:
    """Any command that ended with an exception: its class and its text."""

    error: str
    message: str
    exit_status: int


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def dump(document: object) -> str:
    """Strict JSON (RFC 8259): no NaN, no infinity."""
    return json.dumps(_plain(document), allow_nan=False, ensure_ascii=True, indent=2)


def stream(value: Stream) -> StreamDocument:
    """A stream without its bytes."""
    return StreamDocument(value.text, value.total, value.truncated)


def of_run(result: RunResult, paths: dict[str, str], exit_status: int) -> RunDocument:
    """A result without its bytes; `paths` says where artifacts were written."""
    return RunDocument(
        id=result.id, ok=result.ok, outcome=result.outcome, stdout=stream(result.stdout), stderr=stream(result.stderr),
        parts=result.parts, usage=result.usage, enforcement=result.enforcement, warnings=result.warnings,
        trusted=result.trusted,
        artifacts={n: ArtifactDocument(a.size, a.sha256, paths.get(n)) for n, a in result.artifacts.items()},
        exit_status=exit_status,
    )  # fmt: skip
