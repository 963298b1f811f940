"""A plain program: the source as `__main__`, with nothing between it and the walls. Runs inside them, after lockdown.

There is no gate, and nothing here protects anybody: what this process says on the report is its own claim from the
first byte on. It is to feel like `python script.py`: streams, signals, exit codes, tracebacks, threads and atexit, the
directory of the script on the path.
"""

from __future__ import annotations

import atexit
import builtins
import contextlib
import gc
import importlib.util
import linecache
import os
import signal
import site
import sys
import threading
import traceback
import types
from typing import Any, Protocol

from casemate.guest.account import FILE, account
from casemate.guest.namespace import flush
from casemate.guest.process import complain, prepare_streams, read_source, reseed
from casemate.guest.report import DESCRIPTOR, Report
from casemate.guest.stages import refuse_by_error, stage

INTERPRETER = "/usr/bin/python3"
OUTPUT = "out"
"""What is in this directory at the end is taken, if the profile lets anything be written."""
_CODE = "/opt/casemate"


class Job(Protocol):
    """What this stage reads of `launcher.spec.GuestJob`."""

    @property
    def workdir(self) -> str:
        """The job directory, which is the current one."""


def warm() -> None:
    """What `site` would have put among the builtins; the template was started without it."""
    site.setquit()
    site.setcopyright()
    site.sethelper()


def run(job: Job) -> int:
    """Run the program to the end of its threads; its exit code."""
    refuse_by_error()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    source = read_source()
    report, process = Report(), os.getpid()
    with contextlib.suppress(OSError):
        os.set_inheritable(DESCRIPTOR, False)
    lines = _text(source).splitlines()
    linecache.cache[FILE] = (len(source), None, [line + "\n" for line in lines], FILE)
    _place(job.workdir, source)
    reseed()
    prepare_streams()
    code, interrupted = 0, False
    try:
        with stage(report, "script", {}):
            _execute(source, job.workdir)
    except SystemExit as error:
        code = _left(error)
    except BaseException as error:
        code = 1
        if os.getpid() == process:  # not of a child that it forked and that came here too
            report.write("error", stage="script", **_account(error, lines))
        _show(error)
        interrupted = isinstance(error, KeyboardInterrupt)
    _finish()
    _let_go()
    if interrupted:
        _interrupt()
    return code


def _place(directory: str, source: bytes) -> None:
    """The source as a file, for `__file__` and children; and OUTPUT. Where nothing may be written there is neither."""
    with contextlib.suppress(OSError):
        with contextlib.suppress(FileExistsError):  # an input may be called so
            os.mkdir(os.path.join(directory, OUTPUT))
        with open(os.path.join(directory, FILE), "xb") as file:
            file.write(source)


def _execute(source: bytes, directory: str) -> None:
    main = types.ModuleType("__main__")
    main.__file__ = os.path.join(directory, FILE)
    main.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = main
    sys.argv = [FILE]
    sys.executable = INTERPRETER
    sys.path[:] = [directory, *(path for path in sys.path if path != _CODE)]
    exec(compile(source, FILE, "exec", dont_inherit=True), main.__dict__)


def _text(source: bytes) -> str:
    """As the compiler will read it, or else as well as may be."""
    try:
        return importlib.util.decode_source(source)
    except (SyntaxError, UnicodeDecodeError, LookupError):
        return source.decode("utf-8", "replace")


def _left(error: SystemExit) -> int:
    """The exit status of SystemExit, as the interpreter has it."""
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return int(error.code) & 0xFF
    flush()
    with contextlib.suppress(BaseException):
        complain(f"{error.code}\n")
    return 1


def _account(error: BaseException, lines: list[str]) -> dict[str, Any]:
    """For a CAD script there would be a hint. Also when there is no memory left even for that."""
    try:
        return {**account(error, lines), "hint": ""}
    except BaseException:
        return {"type": "Exception", "message": "", "line": 0, "source_line": "", "function": "", "hint": ""}


def _show(error: BaseException) -> None:
    """The traceback on stderr, from the program's first frame on."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != FILE:
        trace = trace.tb_next
    flush()
    with contextlib.suppress(BaseException):
        if sys.excepthook is not sys.__excepthook__:
            sys.excepthook(type(error), error, trace)
        else:
            complain("".join(traceback.format_exception(type(error), error, trace)))


def _finish() -> None:
    """What the interpreter does at its end: join threads, call atexit's functions, flush."""
    with contextlib.suppress(BaseException):
        threading._shutdown()  # type: ignore[attr-defined]
    with contextlib.suppress(BaseException):
        atexit._run_exitfuncs()
    flush()


def _let_go() -> None:
    """The main module's values, so that files which the program left open are written out."""
    main = sys.modules.get("__main__")
    with contextlib.suppress(BaseException):
        vars(main).clear()
        gc.collect()
    flush()


def _interrupt() -> None:
    """End by SIGINT, so that whoever waits sees it."""
    with contextlib.suppress(OSError):
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
