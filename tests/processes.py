"""Looks at the processes that others started, through /proc, and waits for what is to come of them."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path

PATIENCE = float(os.environ.get("CASEMATE_TEST_PATIENCE", "1"))
"""How much slower than a real one the machine is: an emulated one is some ten times."""


def fields(pid: int) -> dict[str, str]:
    """Fields of /proc/PID/status, empty if the process is gone or a zombie."""
    with contextlib.suppress(OSError):
        lines = Path(f"/proc/{pid}/status").read_text("utf-8", "replace").splitlines()
        found = {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}
        return {} if found["State"].startswith(("Z", "X")) else found
    return {}


def descendants(pid: int) -> set[int]:
    """Every living process below `pid`."""
    parents = {
        int(path.name): int(found["PPid"]) for path in Path("/proc").glob("[0-9]*") if (found := fields(int(path.name)))
    }
    below: set[int] = set()
    new = {pid}
    while new:
        new = {child for child, parent in parents.items() if parent in new} - below
        below |= new
    return below


def guests(pid: int) -> set[int]:
    """Those below `pid` that have a guest's filter on, at its depth of pid namespaces (proc_pid_status(5))."""
    own = fields(pid).get("Seccomp_filters")
    return {
        child
        for child in descendants(pid)
        if (found := fields(child)).get("Seccomp") == "2"
        and found.get("Seccomp_filters") != own
        and len(found.get("NSpid", "").split()) > 3  # host, room, sandbox, execution
    }


def wait_until(condition: Callable[[], object], timeout: float) -> bool:
    """Poll until `condition()` holds; False if it does not within `timeout` seconds, or PATIENCE times as many."""
    end = time.monotonic() + timeout * PATIENCE
    while not condition():
        if time.monotonic() >= end:
            return False
        time.sleep(0.005)
    return True
