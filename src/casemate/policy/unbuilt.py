"""What a row may say and this version cannot enforce, in one table: when a feature lands, its line is taken out.

`load`: the profile is refused when it is loaded. `run`: it loads, is shown and compared, and nothing runs under it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from casemate.errors import Fault
from casemate.policy.lines import Written
from casemate.policy.rows import Rows

When = Literal["load", "run"]


@dataclass(frozen=True, slots=True)
class Unbuilt:
    """`built` says of a row's value whether this version enforces it."""

    row: str
    when: When
    built: Callable[[object], bool]
    why: str


def _only(*values: object) -> Callable[[object], bool]:
    return lambda value: value in values


UNBUILT: tuple[Unbuilt, ...] = (
    Unbuilt("isolation.unit", "load", _only("execution"), "a sandbox serves one execution"),
    Unbuilt("filesystem.start", "load", _only("empty"), "there are no snapshots"),
    Unbuilt("filesystem.writable", "load", _only((), ("/tmp",)), "the one writable place is /tmp"),
    Unbuilt("network.egress", "load", _only("none"), "there is no egress broker"),
    Unbuilt("secrets.references", "load", _only(()), "nothing holds secrets"),
    Unbuilt("preview.allowed", "load", _only(False), "nothing shows a job's output in a browser"),
    Unbuilt("lifecycle.reuse", "load", _only("never"), "a sandbox is never used twice"),
    Unbuilt("limits.sockets", "run", _only(0), "every socket is refused"),
    Unbuilt("limits.processes", "run", lambda value: value != 1, "one process alone was never tried"),
    Unbuilt("filesystem.image", "run", lambda value: value not in PLANNED["filesystem.image"], "there is no image"),
    Unbuilt("filesystem.writable", "run", _only(("/tmp",)), "/tmp is always writable"),
    Unbuilt("filesystem.exec_writable", "run", _only(False), "/tmp is mounted noexec, and execve is refused"),
    Unbuilt("network.loopback", "run", _only("down"), "the loopback is down"),
    Unbuilt("environment.variables", "run", _only(()), "the environment is empty"),
    Unbuilt("devices.pty", "run", _only(False), "there is no devpts"),
    Unbuilt("proc.view", "run", _only("pid"), "/proc shows processes and nothing else"),
    Unbuilt("gate.rules", "run", _only("cad", "cad-minimal"), "nothing runs without the gate"),
    Unbuilt("artifacts.inspection", "run", _only("required", "claimed"), "only CAD jobs leave files"),
)  # fmt: skip

PLANNED: dict[str, frozenset[str]] = {
    "filesystem.image": frozenset({"python"}),
}
"""Names that do not resolve yet, and that a profile may hold all the same: shipped ones do."""


def unbuilt(rows: Rows, written: Written, when: When) -> tuple[Fault, ...]:
    """Each row that this version cannot enforce, with its place."""
    yet = " yet" if when == "run" else ""
    return tuple(
        written.fault(entry.row, f"{_told(rows.value(entry.row))} is not enforceable by this version{yet}: {entry.why}")
        for entry in UNBUILT
        if entry.when == when and not entry.built(rows.value(entry.row))
    )


def _told(value: object) -> str:
    """As TOML has it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(map(_told, value))}]"
    return f'"{value}"' if isinstance(value, str) else str(value)
