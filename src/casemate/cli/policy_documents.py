"""What `casemate policy` and `casemate syscalls` print with `--json`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Value = bool | int | float | str | tuple[str, ...]
"""What a row of a profile may hold."""


@dataclass(frozen=True, slots=True)
class FaultDocument:
    """What is wrong with a row; `line` is 0 where a file could not be read, `text` says all of it."""

    file: str
    line: int
    row: str
    message: str
    text: str


@dataclass(frozen=True, slots=True)
class LintedFile:
    """One profile: what it is if it loads, else what is wrong with it."""

    file: str
    ok: bool
    name: str | None
    version: int | None
    digest: str | None
    faults: tuple[FaultDocument, ...]


@dataclass(frozen=True, slots=True)
class PolicyLintDocument:
    """`casemate policy lint`."""

    files: tuple[LintedFile, ...]
    exit_status: int


@dataclass(frozen=True, slots=True)
class PolicyDocument:
    """`casemate policy show`: every row, table by table."""

    name: str
    version: int
    digest: str
    description: str
    rows: dict[str, dict[str, Value]]
    exit_status: int


@dataclass(frozen=True, slots=True)
class PolicyExplainDocument:
    """`casemate policy explain`."""

    limit: str
    bounds: str
    unit: str
    kind: Literal["terminal", "refusing", "slowing", "choice"]
    enforced_by: str
    program_sees: str
    counted: str
    without_cgroup: str
    source: str
    exit_status: int


@dataclass(frozen=True, slots=True)
class DifferenceDocument:
    """A row that differs, and what the second profile is in it, seen from the first."""

    row: str
    first: Value
    second: Value
    second_is: Literal["tighter", "looser", "different"]


@dataclass(frozen=True, slots=True)
class PolicyDiffDocument:
    """`casemate policy diff`."""

    first: str
    second: str
    rows: tuple[DifferenceDocument, ...]
    exit_status: int


@dataclass(frozen=True, slots=True)
class SyscallGroupDocument:
    """Calls with the one reason for them; `kept`: no trace has seen them."""

    name: str
    why: str
    calls: tuple[str, ...]
    kept: bool


@dataclass(frozen=True, slots=True)
class SyscallSetDocument:
    """`casemate syscalls show`; `arguments` is call → rule, where this set has one of its own."""

    name: str
    calls: int
    groups: tuple[SyscallGroupDocument, ...]
    arguments: dict[str, str]
    exit_status: int


@dataclass(frozen=True, slots=True)
class TraceDocument:
    """`casemate syscalls trace`; `words` are values of the argument words at `positions`, of calls that have a rule."""

    set: str
    host: dict[str, str]
    jobs: dict[str, str]
    calls: dict[str, tuple[str, ...]]
    positions: dict[str, tuple[int, ...]]
    words: dict[str, tuple[tuple[int, ...], ...]]
    lacks: tuple[str, ...]
    unneeded: tuple[str, ...]
    kept_but_seen: tuple[str, ...]
    exit_status: int
