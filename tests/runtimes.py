"""Profiles under another runtime, and executables that stand in for one and do something else."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from casemate.runtime import runtimes

ROOT = Path(__file__).parents[1]
INSTALLED = ("crun", "runc")
"""Those that `make test` installs where it may."""


def require(name: str) -> None:
    """Skip where the runtime is not there."""
    found = runtimes.find(name)
    if found.reason:
        pytest.skip(found.reason)


def profile_under(directory: Path, runtime: str, base: str = "cad") -> str:
    """The path of a profile like `base` whose outer wall that runtime makes."""
    text = (ROOT / "profiles" / f"{base}.toml").read_text("utf-8")
    assert text.count('runtime = "native"') == 1
    path = directory / f"{base}-{runtime}.toml"
    path.write_text(text.replace('runtime = "native"', f'runtime = "{runtime}"'), "utf-8")
    return str(path)


def stand_in(directory: Path, body: str) -> Path:
    """An executable that says a version, and for everything else is the Python program `body`."""
    path = directory / "runtime"
    head = "#!/usr/bin/python3\nimport json, os, subprocess, sys, time\n"
    version = 'if sys.argv[1:] == ["--version"]:\n    print("stand-in 1.0")\n    sys.exit(0)\n'
    path.write_text(f"{head}{version}{body}\n", "utf-8")
    path.chmod(stat.S_IRWXU)
    return path
