"""What the tests of the filter share: calls behind it, and its program as bytes."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyseccomp
from harness import DATA, PROGRAMS

from casemate.runtime import seccomp

SETS = ("cad", "python", "strict")


def filtered(*wanted: tuple[Any, ...], name: str = "cad", expect: int = 0) -> list[int]:
    """The errno of each call behind the filter, in a process of its own (programs/filtered.py)."""
    with tempfile.TemporaryDirectory() as place:
        done = subprocess.run(
            [sys.executable, str(PROGRAMS / "filtered.py"), name, json.dumps(wanted), place],
            capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    assert done.returncode == expect, done.stderr
    return json.loads(done.stdout) if expect == 0 else []


def program(name: str, *, unix: bool = False, inet: bool = False, traced: bool = False, pty: bool = False) -> bytes:
    return base64.b64decode(seccomp.compiled(name, unix=unix, inet=inet, traced=traced, pty=pty), validate=True)


def number(call: str) -> int:
    return int(pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, call))


def recorded(name: str) -> dict[str, Any]:
    """The last trace of a set's jobs (`make syscalls`)."""
    found: dict[str, Any] = json.loads((Path(DATA) / "syscalls" / "recorded" / f"{name}.json").read_text("utf-8"))
    return found
