"""Runs `casemate` as a user does, in a process of its own with pipes; or in this one."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema

from casemate.cli import main

BOX = "import cadquery as cq\nresult = cq.Workplane().box(10, 20, 30)\n"
TWO = (
    "import cadquery as cq\n"
    "show_object(cq.Workplane().box(1, 1, 1), name='lid')\nshow_object(cq.Workplane().box(2, 2, 2), name='body')\n"
)
DENIED = "import os\nos.system('true')\n"
FAILING = "import cadquery as cq\nresult = cq.Workplane().box(1, 1, 1)\nvalue = 1 / 0\n"


def casemate(*arguments: str | Path, stdin: bytes | None = None) -> subprocess.CompletedProcess[str]:
    """Its exit status and what it printed."""
    return subprocess.run(
        [sys.executable, "-m", "casemate.cli", *map(str, arguments)],
        input=(stdin or b"").decode("utf-8"), capture_output=True, text=True, timeout=110,
    )  # fmt: skip


def inside(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """The same without the second that an interpreter and its imports take.

    For a command that starts nothing; or under the fixture `lent`, which spares it the template as well.
    """
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(list(map(str, arguments)))
    return subprocess.CompletedProcess(arguments, status, out.getvalue(), err.getvalue())


def schema() -> dict[str, Any]:
    """What `casemate schema` prints."""
    done = casemate("schema")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def document(done: subprocess.CompletedProcess[str], kind: str, whole: dict[str, Any], status: int) -> dict[str, Any]:
    """The one JSON document on standard output, valid as its kind, with the exit status inside and outside."""

    def refuse(token: str) -> None:
        raise AssertionError(f"{token} is no JSON")

    found: dict[str, Any] = json.loads(done.stdout, parse_constant=refuse)
    jsonschema.validate(found, whole)
    jsonschema.validate(found, {"$ref": f"#/$defs/{kind}", "$defs": whole["$defs"]})
    # Every member is in the schema: nothing is printed that was not promised.
    assert set(found) <= set(whole["$defs"][kind]["properties"])
    assert (done.returncode, found["exit_status"]) == (status, status), done.stderr
    return found
