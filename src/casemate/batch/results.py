"""What is kept of a result, and the rows of results.jsonl.

A script controls texts of its result: streams, names, messages. Here they are bounded, and they are JSON strings in
ASCII, so that no line can be forged or broken by them.
"""

from __future__ import annotations

import dataclasses
import enum
import json
import math
import re
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from casemate.batch.rows import Unreadable, plain
from casemate.model import Artifact, Limit, Notice, Outcome, Part, Reason, RunResult, Stream, Usage, Verdict

TEXT, ITEMS = 16 << 10, 100
"""Characters of a stream and of any other text, and items of any list, that a row holds."""
LARGE, SHORT, FEW = 256 << 10, 256, 20
"""A row of more bytes than LARGE is cut again: to SHORT characters of each text, and FEW items."""
_SUFFIX = re.compile(r"\.[a-z0-9]{1,8}")
_COUNTED = frozenset(Limit) - {Limit.WALL_TIME, Limit.CPU_TIME, Limit.MEMORY}
_OF_CODE = (signal.SIGSEGV, signal.SIGABRT, signal.SIGFPE, signal.SIGILL, signal.SIGSYS)


@dataclass(frozen=True, slots=True)
class TextDocument:
    """What was printed, as text; undecodable bytes are U+FFFD. `truncated`: there was more than is here."""

    text: str
    total: int
    truncated: bool


@dataclass(frozen=True, slots=True)
class FileDocument:
    """A file that was delivered; `path` is below the directory of the results."""

    size: int
    sha256: str
    path: str


@dataclass(frozen=True, slots=True)
class MapResult:
    """What became of a script, without what differs from run to run; `cut`: texts or lists were shortened."""

    outcome: Outcome
    stdout: TextDocument
    stderr: TextDocument
    parts: tuple[Part, ...]
    artifacts: dict[str, FileDocument]
    warnings: tuple[Notice, ...]
    trusted: bool
    degraded: tuple[str, ...]
    """Layers that this host lacks, as the profile permits."""
    layers_off: tuple[str, ...]
    """Layers that were read back as not on, by name."""
    cut: bool


@dataclass(frozen=True, slots=True)
class MapRow:
    """A line of results.jsonl. Either `unreadable` or `result` is there, `usage` only if it was asked for."""

    index: int
    place: str
    id: str | int | None
    sha256: str | None
    key: str | None
    """Of source, profile, limits, image, host and program: rows of one key have one result."""
    ok: bool
    unreadable: Unreadable | None
    result: MapResult | None
    usage: Usage | None


_RESULT, _USAGE, _ROW = TypeAdapter(MapResult), TypeAdapter(Usage), TypeAdapter(MapRow)
_COLUMNS = {field.name for field in dataclasses.fields(MapRow)}


def repeatable(result: RunResult) -> bool:
    """Whether it tells of the program alone, so that it may be kept.

    Not what the clock, the host's load or memory, the caller, or a fault of ours had a part in.
    """
    outcome = result.outcome
    if outcome.verdict is Verdict.INSPECTOR_FAILED:
        return False
    if outcome.reason is Reason.LIMIT:
        return outcome.limit in _COUNTED
    if outcome.reason is Reason.SIGNALED:
        return outcome.signal in _OF_CODE  # a SIGKILL may be the host's, for want of memory
    return outcome.reason in (Reason.EXITED, Reason.POLICY)


def kept(result: RunResult) -> dict[str, Any]:
    """A result as the JSON of a `MapResult`, bounded."""
    files = {name: FileDocument(a.size, a.sha256, f"artifacts/{stored(a)}") for name, a in result.artifacts.items()}
    enforcement = result.enforcement

    def made(text: int, items: int) -> dict[str, Any]:
        document = MapResult(
            result.outcome, _text(result.stdout, text), _text(result.stderr, text), result.parts, files,
            result.warnings, result.trusted, enforcement.degraded,
            tuple(layer.name for layer in enforcement.layers if not layer.on), cut=False,
        )  # fmt: skip
        bound = _Bound(text, items)
        found: dict[str, Any] = bound.of(document)
        found["cut"] = bound.cut
        return found

    whole = made(TEXT, ITEMS)
    return whole if len(line(whole)) <= LARGE else made(SHORT, FEW)


def usage(value: Usage) -> dict[str, Any]:
    """What it used, as JSON."""
    found: dict[str, Any] = _Bound(SHORT, ITEMS).of(value)
    return found


def stored(artifact: Artifact) -> str:
    """The name of its file: what is in it, and the end of its own name if that is an ordinary one."""
    suffix = Path(artifact.name).suffix
    return artifact.sha256 + (suffix if _SUFFIX.fullmatch(suffix) else "")


def line(value: object) -> bytes:
    """Strict JSON in ASCII, on one line, with its end."""
    return json.dumps(value, allow_nan=False, ensure_ascii=True, separators=(",", ":")).encode("ascii") + b"\n"


def valid(result: object, used: object) -> bool:
    """Whether these are a `MapResult` and a `Usage`, with files whose names are digests."""
    try:
        found = _RESULT.validate_json(json.dumps(result, allow_nan=False), strict=True)
        _USAGE.validate_json(json.dumps(used, allow_nan=False), strict=True)
    except (ValidationError, ValueError, RecursionError):
        return False
    return _filed(found)


def whole(row: dict[str, Any]) -> bool:
    """Whether this is a `MapRow` as one is written here: what stands in a file may have been written by anybody."""
    try:
        found = _ROW.validate_json(json.dumps(row, allow_nan=False), strict=True)
    except (ValidationError, ValueError, RecursionError):
        return False
    if set(row) != _COLUMNS or (found.result is None) == (found.unreadable is None):
        return False
    if found.result is None:
        return not found.ok
    outcome = found.result.outcome
    well = (outcome.reason, outcome.exit_code) == (Reason.EXITED, 0) and outcome.verdict in (None, Verdict.PART)
    return found.ok is well and _filed(found.result)


def _filed(result: MapResult) -> bool:
    return all(_FILE.fullmatch(file.path) and file.sha256 in file.path for file in result.artifacts.values())


_FILE = re.compile(r"artifacts/[0-9a-f]{64}(\.[a-z0-9]{1,8})?")


def label(row: dict[str, Any]) -> str:
    """What a row counts as: `ok`, or why not, in words of the model alone."""
    if row["unreadable"] is not None:
        return f"unreadable {row['unreadable']['reason']}"
    outcome = row["result"]["outcome"]
    if row["ok"]:
        return "ok"
    if outcome["reason"] == Reason.EXITED and outcome["error"] is not None:
        return "raised"
    if outcome["reason"] == Reason.EXITED:
        return str(outcome["verdict"] or Reason.EXITED)
    return f"limit {outcome['limit']}" if outcome["limit"] else str(outcome["reason"])


def _text(stream: Stream, most: int) -> TextDocument:
    text = stream.text
    return TextDocument(text[:most], stream.total, stream.truncated or len(text) > most)


class _Bound:
    """Values as JSON, with no text longer than `text` and no list longer than `items`; `cut` if any was."""

    def __init__(self, text: int, items: int) -> None:
        self._text, self._items = text, items
        self.cut = False

    def of(self, value: Any) -> Any:
        if dataclasses.is_dataclass(value):
            return {field.name: self.of(getattr(value, field.name)) for field in dataclasses.fields(value)}
        if isinstance(value, enum.Enum):
            return value.value
        if isinstance(value, str):
            self.cut |= len(value) > self._text
            return plain(value[: self._text])
        if isinstance(value, dict):
            return {plain(name): self.of(item) for name, item in value.items()}
        if isinstance(value, (tuple, list)):
            self.cut |= len(value) > self._items
            return [self.of(item) for item in value[: self._items]]
        if isinstance(value, float) and not math.isfinite(value):
            return None
        return value
