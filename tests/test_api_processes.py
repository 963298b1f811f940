"""The public API as other programs use it: what an import brings, forks, and the end of the caller."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from harness import PROGRAMS, wait_until
from processes import fields

import casemate

THEIRS = {"cadquery", "build123d", "OCP", "numpy", "scipy", "vtk", "vtkmodules"}


def python(*arguments: str | Path) -> Any:
    """The JSON that a program of its own printed."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=110
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_an_import_brings_no_cad_library_and_nothing_of_the_launcher_but_the_wire() -> None:
    loaded = set(python("-c", "import casemate, json, sys; print(json.dumps(sorted(sys.modules)))"))
    assert not {name.split(".")[0] for name in loaded} & THEIRS
    assert {name for name in loaded if name.startswith("casemate.launcher.")} <= {
        "casemate.launcher.spec", "casemate.launcher.messages", "casemate.launcher.syscalls",
        "casemate.launcher.descriptors",
    }  # fmt: skip
    assert not [name for name in loaded if name.startswith(("casemate.guest", "casemate.gate", "casemate.cli"))]


def test_an_import_starts_nothing() -> None:
    seen = python(
        "-c",
        "import casemate, json, os, threading\n"
        "children = open(f'/proc/self/task/{os.getpid()}/children').read().split()\n"
        "print(json.dumps([len(children), threading.active_count()]))",
    )
    assert seen == [0, 1]


def test_the_package_says_that_it_is_typed() -> None:
    assert Path(casemate.__file__).with_name("py.typed").is_file()


def test_parent_and_child_of_a_fork_both_run_jobs(profile: str) -> None:
    assert profile
    seen = python(PROGRAMS / "forking.py")
    assert [seen[when] for when in ("before", "parent", "after")] == [pytest.approx(n) for n in (1, 3, 4)]
    assert seen["child"]["volume"] == pytest.approx(2)
    assert seen["child"]["keeper"] != seen["keeper"]
    assert "fork" in seen["child"]["inherited"]
    assert seen["same"]  # the child's end took nothing from the parent


def test_the_end_of_the_program_is_the_end_of_its_keeper(profile: str) -> None:
    assert profile
    keeper = python(PROGRAMS / "one_keeper.py")["keeper"]
    assert keeper != os.getpid()
    assert wait_until(lambda: not fields(keeper), 10)
