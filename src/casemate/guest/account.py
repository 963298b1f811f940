"""The structured account of an exception: type, message, the last line of the script that it went through, a hint.

An exception is the script's own object: its `__str__` may raise, never return, or give a gigabyte. Nothing is asked of
it but through `guarded`, which bounds time and size.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Sequence
from types import FrameType, TracebackType
from typing import Any

from casemate.guest import hints, inputs, namespace, proxies

FILE = "script.py"
"""The name under which the script is compiled; frames with it are the script's."""
MAX_MESSAGE = 2000
MAX_LINE = 400
_PATIENCE = 1.0
"""Seconds for one question to an object of the script's."""
_MOST_FRAMES = 5000
_WRAPPERS = frozenset({"BaseObjectMeta.__call__", "multimethod.__call__", "multidispatch.__call__"})
"""Frames of the libraries that stand before every call and name nothing."""
_OURS = frozenset({inputs.__file__, namespace.__file__, proxies.__file__})
"""Frames of what we inject."""


class _TooLong(BaseException):
    """Not an Exception, so that `except Exception` in the script's own code does not stop it."""


def guarded(question: Callable[[], object], fallback: str, longest: int = MAX_MESSAGE) -> str:
    """The answer as a bounded string, or the fallback if it raises, takes too long, or is not a string."""

    def interrupt(_signal: int, frame: FrameType | None) -> None:
        if frame is not None and frame.f_code is not guarded.__code__:  # else the question is over already
            raise _TooLong

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
    try:
        signal.setitimer(signal.ITIMER_REAL, _PATIENCE, 0.1)
        answer = question()
        signal.setitimer(signal.ITIMER_REAL, 0)
        text = str.__str__(answer) if isinstance(answer, str) else fallback
    except BaseException:  # whatever it is, it is the script's doing
        text = fallback
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL if before is None else before)
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text) - longest} more)"


def account(error: BaseException, lines: Sequence[str]) -> dict[str, Any]:
    """The members of an `error` record but its stage."""
    kind = guarded(lambda: type.__dict__["__name__"].__get__(type(error)), "Exception", 200)
    for plain in (MemoryError, RecursionError, SystemExit):  # numpy has a MemoryError of its own
        kind = plain.__name__ if isinstance(error, plain) else kind
    message = guarded(lambda: hints.rephrase(error, kind), "(its message could not be had)")
    line, source_line, function = place(error, lines)
    hint = guarded(lambda: hints.hint(error, kind, message, FILE), "", 1000)
    return {
        "type": kind,
        "message": message,
        "line": line,
        "source_line": source_line[:MAX_LINE],
        "function": function,
        "hint": hint,
    }


def place(error: BaseException, lines: Sequence[str]) -> tuple[int, str, str]:
    """Line and text of the last frame in the script, and the library function that it called and that raised."""
    if isinstance(error, SyntaxError) and error.filename == FILE:
        number = error.lineno or 0
        return number, _text(lines, number), ""
    number, function = 0, ""
    for frame, at in frames(error.__traceback__):
        code = frame.f_code
        if code.co_filename == FILE:
            number, function = at, ""
        elif number and not function and code.co_filename not in _OURS and code.co_qualname not in _WRAPPERS:
            function = code.co_qualname
    if number and not function and isinstance(error, TypeError):
        refused = guarded(lambda: re.match(r"([\w.]+)\(\) ", str(error)).group(1), "")  # type: ignore[union-attr]
        function = refused.removesuffix(".__init__")
    return number, _text(lines, number), function[:200]


def frames(trace: TracebackType | None) -> list[tuple[FrameType, int]]:
    """Each frame of a traceback with its line, outermost first."""
    found: list[tuple[FrameType, int]] = []
    while trace is not None and len(found) < _MOST_FRAMES:
        found.append((trace.tb_frame, trace.tb_lineno or 0))
        trace = trace.tb_next
    return found


def show(error: BaseException, lines: Sequence[str], told: dict[str, Any]) -> str:
    """A traceback as a person expects it on stderr: the script's frames, then what was raised."""
    out = ["Traceback (most recent call last):"]
    inside = [(frame, at) for frame, at in frames(error.__traceback__) if frame.f_code.co_filename == FILE]
    for frame, at in inside[:5] + inside[5:][-5:]:
        out.append(f'  File "{FILE}", line {at}, in {frame.f_code.co_name}')
        out.append(f"    {_text(lines, at).strip()[:MAX_LINE]}")
    if told["function"]:
        out.append(f"  in {told['function']}")
    out.append(f"{told['type']}: {told['message']}" if told["message"] else str(told["type"]))
    return "\n".join(out) + "\n"


def _text(lines: Sequence[str], number: int) -> str:
    return lines[number - 1].rstrip("\r\n") if 0 < number <= len(lines) else ""
