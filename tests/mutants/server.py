"""The first process of the ground's pid namespace: runs tests on edited copies, each in a fork of this process.

What pytest needs is imported once, and nothing of the package, which is another in each fork. An order is a line of
JSON, {"edits": [[FILE, OLD, NEW]], "tests": [ARGUMENT], "seconds": N}; the answer {"status": N or null, "tail": [LINE],
"seconds": S}. After each, whatever is still in the namespace is killed: it is the mutant's.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import hypothesis.strategies  # noqa: F401
import pydantic  # noqa: F401
import pyseccomp  # noqa: F401
import pytest
from mutants import edits

OUTPUT = "/tmp/output"
IMPORTED = "ignore::pytest.PytestAssertRewriteWarning"
"""Hypothesis's own modules are imported before pytest could rewrite them."""


def run(arguments: list[str], seconds: float) -> int | None:
    """Status of pytest, or None if it was not over in time."""
    pid = os.fork()
    if pid == 0:
        os.setsid()
        output = os.open(OUTPUT, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
        null = os.open("/dev/null", os.O_RDONLY)
        for fd, source in ((0, null), (1, output), (2, output)):
            os.dup2(source, fd)
        code = 70
        try:
            code = int(
                pytest.main(["-q", "-x", "-p", "no:cacheprovider", "-p", "mutants.plugin", "-W", IMPORTED, *arguments])
            )
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    status, end = None, time.monotonic() + seconds
    while status is None and time.monotonic() < end:
        # Orphans are ours to reap: tests look whether a process is gone.
        found, code = os.waitpid(-1, os.WNOHANG)
        if found == pid:
            status = os.waitstatus_to_exitcode(code)
        elif found == 0:
            time.sleep(0.005)
    clear()
    return status


def clear() -> None:
    """End whatever is left in the namespace but ourselves (kill(2): as its first process we are spared)."""
    assert os.getpid() == 1
    with contextlib.suppress(ProcessLookupError, ChildProcessError):
        while True:
            os.kill(-1, signal.SIGKILL)
            os.waitpid(-1, 0)


def main() -> None:
    """Until there are no more orders."""
    assert os.getpid() == 1
    assert not any(name.split(".")[0] == "casemate" for name in sys.modules)
    package = Path(sys.argv[1]) / "src" / "casemate"
    orders = open(Path(sys.argv[1]) / edits.ORDERS, encoding="utf-8")  # noqa: SIM115
    for line in orders:
        order: dict[str, Any] = json.loads(line)
        before = edits.apply(package, [(file, old, new) for file, old, new in order["edits"]])
        began = time.monotonic()
        status = run(order["tests"], order["seconds"])
        edits.restore(before)
        tail = Path(OUTPUT).read_text("utf-8", "replace").splitlines()[-30:]
        print(json.dumps({"status": status, "tail": tail, "seconds": round(time.monotonic() - began, 1)}), flush=True)


if __name__ == "__main__":
    main()
