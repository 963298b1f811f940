"""What a row may say and this version cannot enforce, in one table: when a feature lands, its line is taken out.

A profile that says such a thing is refused when it is loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from casemate.errors import Fault
from casemate.policy.lines import Written
from casemate.policy.rows import Rows


@dataclass(frozen=True, slots=True)
class Unbuilt:
    """`built` says of a row's value whether this version enforces it."""

    row: str
    built: Callable[[object], bool]
    why: str


def _only(*values: object) -> Callable[[object], bool]:
    return lambda value: value in values


UNBUILT: tuple[Unbuilt, ...] = (
    Unbuilt("filesystem.start", _only("empty"), "there are no snapshots"),
    Unbuilt("filesystem.writable", _only((), ("/tmp",)), "the one writable place is /tmp"),
    Unbuilt("network.egress", _only("none"), "there is no egress broker"),
    Unbuilt("secrets.references", _only(()), "nothing holds secrets"),
    Unbuilt("preview.allowed", _only(False), "nothing shows a job's output in a browser"),
    Unbuilt("lifecycle.reuse", _only("never"), "a sandbox is never used twice"),
)  # fmt: skip


def unbuilt(rows: Rows, written: Written) -> tuple[Fault, ...]:
    """Each row that this version cannot enforce, with its place."""
    return tuple(
        written.fault(entry.row, f"{_told(rows.value(entry.row))} is not enforceable by this version: {entry.why}")
        for entry in UNBUILT
        if not entry.built(rows.value(entry.row))
    )


def _told(value: object) -> str:
    """As TOML has it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(map(_told, value))}]"
    return f'"{value}"' if isinstance(value, str) else str(value)
