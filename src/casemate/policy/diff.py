"""Two profiles, row by row: what differs, and on which side the boundary is tighter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from casemate.policy.profile import Profile
from casemate.policy.rows import names

Comparison = Literal["tighter", "looser", "different"]

ORDER: Mapping[str, tuple[object, ...]] = {
    "isolation.unit": ("execution", "task", "session", "user"),
    "limits.output_overflow": ("kill", "cut"),
    "filesystem.exec_writable": (False, True),
    "network.egress": ("none", "broker"),
    "network.loopback": ("down", "up"),
    "devices.pty": (False, True),
    "proc.view": ("pid", "masked"),
    "kernel.landlock": ("required", "if-available"),
    "gate.rules": ("cad-minimal", "cad", "none"),
    "artifacts.inspection": ("required", "claimed"),
    "preview.allowed": (False, True),
    "preview.authentication": ("required", "signed-link"),
    "preview.scripts": ("refused", "allowed"),
    "preview.origin": ("own", "shared"),
    "preview.cookies": ("refused", "allowed"),
    "preview.disposition": ("attachment", "inline"),
    "lifecycle.reuse": ("never", "within-unit"),
}
"""Rows whose values have an order, tightest first; any other value is only different."""
FEWER = frozenset(
    {
        "filesystem.writable", "environment.variables", "secrets.references", "devices.nodes",
        "layers.permitted_degraded", "layers.not_held",
    }
)  # fmt: skip
"""Rows that list what there is: a part of the list is tighter."""
MORE = frozenset({"isolation.walls", "layers.required"})
"""Rows that list what must be there: the whole of a list is tighter than a part."""
OTHER = frozenset(
    {
        "profile.name", "profile.version", "profile.description", "isolation.runtime", "identity.guest",
        "filesystem.image", "filesystem.start", "kernel.syscalls",
    }
)  # fmt: skip
"""Rows without an order. Sets of system calls are compared by their calls. In all others, numbers, less is tighter."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A row that differs, and what the second profile is in it, seen from the first."""

    row: str
    first: object
    second: object
    second_is: Comparison


def diff(first: Profile, second: Profile, syscalls: Mapping[str, frozenset[str]]) -> tuple[Difference, ...]:
    """Every row that differs, in the file's order; `syscalls` are the calls of each named set."""
    rows = ((row, first.value(row), second.value(row)) for row in names())
    return tuple(Difference(row, a, b, _compare(row, a, b, syscalls)) for row, a, b in rows if a != b)


def _compare(row: str, a: object, b: object, syscalls: Mapping[str, frozenset[str]]) -> Comparison:
    if row in ORDER:
        order = ORDER[row]
        return _rank(order.index(a), order.index(b)) if a in order and b in order else "different"
    if row == "kernel.syscalls":
        return _sets(syscalls.get(str(a)), syscalls.get(str(b)))
    if row in FEWER | MORE:
        assert isinstance(a, tuple)
        assert isinstance(b, tuple)
        return _sets(frozenset(a), frozenset(b)) if row in FEWER else _sets(frozenset(b), frozenset(a))
    if row not in OTHER and isinstance(a, int | float) and isinstance(b, int | float):
        return _rank(a, b)
    return "different"


def _rank(a: float, b: float) -> Comparison:
    return "tighter" if b < a else "looser"


def _sets(a: frozenset[str] | None, b: frozenset[str] | None) -> Comparison:
    if a is None or b is None or not (a < b or b < a):
        return "different"
    return "tighter" if b < a else "looser"
