"""The three exceptions: each says whose fault it was, and none is ever blamed on the program that ran.

What a program did wrong is a result (`casemate.model.RunResult`), not an exception.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class CasemateError(Exception):
    """Base of the three; `str()` is one sentence with the reason and, after it, the remedy if there is one."""


class Denied(CasemateError):
    """The caller may not do this, or asked for something that no profile allows."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with a file: `line` counts from 1, `row` is a dotted name or empty."""

    file: str
    line: int
    row: str
    message: str

    def __str__(self) -> str:
        return (
            f"{self.file}:{self.line}: {self.row}: {self.message}"
            if self.row
            else f"{self.file}:{self.line}: {self.message}"
        )


class PolicyError(Denied):
    """A profile that cannot be loaded, or a row that this host cannot enforce; `faults` are those that have a place."""

    def __init__(self, message: str = "", faults: Sequence[Fault] = ()) -> None:
        super().__init__(message)
        self.faults = tuple(faults)

    @classmethod
    def of(cls, faults: Sequence[Fault]) -> PolicyError:
        """All of them, one a line."""
        return cls("\n".join(map(str, faults)), faults)


class Busy(CasemateError):
    """No capacity now; the same call may succeed later."""


class SandboxFault(CasemateError):
    """Casemate itself, or the host under it, failed; nothing is known about the program."""
