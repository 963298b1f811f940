"""The three exceptions: each says whose fault it was, and none is ever blamed on the program that ran.

What a program did wrong is a result (`casemate.model.RunResult`), not an exception.
"""

from __future__ import annotations


class CasemateError(Exception):
    """Base of the three; `str()` is one sentence with the reason and, after it, the remedy if there is one."""


class Denied(CasemateError):
    """The caller may not do this, or asked for something that no profile allows."""


class PolicyError(Denied):
    """A profile that cannot be loaded, or a row of it that this host cannot enforce."""


class Busy(CasemateError):
    """No capacity now; the same call may succeed later."""


class SandboxFault(CasemateError):
    """Casemate itself, or the host under it, failed; nothing is known about the program."""
