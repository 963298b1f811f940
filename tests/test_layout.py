"""The import rules between zones, as an allowlist: what is not listed is refused. Each check has its twin."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "casemate"

# zone -> (what of ours it may import beside itself, which third-party packages)
RULES: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "__init__": (frozenset({"model", "errors", "control"}), frozenset()),
    "model": (frozenset({"errors"}), frozenset()),
    "errors": (frozenset({"model"}), frozenset()),
    "policy": (frozenset({"model", "errors"}), frozenset({"pydantic"})),
    "gate": (frozenset({"model", "errors"}), frozenset()),
    "launcher": (frozenset(), frozenset()),
    "guest": (frozenset({"gate", "model"}), frozenset({"OCP", "build123d", "cadquery", "numpy", "scipy"})),
    "runtime": (
        frozenset({"model", "errors", "launcher.spec", "launcher.syscalls"}),
        frozenset({"pydantic", "pyseccomp"}),
    ),
    "egress": (frozenset({"model", "errors", "policy"}), frozenset()),
    "control": (frozenset({"model", "errors", "policy", "runtime", "egress"}), frozenset({"platformdirs", "pydantic"})),
    "api": (frozenset({"model", "errors", "policy", "control"}), frozenset({"pydantic"})),
    "batch/parquet": (frozenset({"batch", "errors"}), frozenset({"pyarrow"})),
    "batch": (frozenset({"model", "errors", "control"}), frozenset({"pydantic"})),
    "cad": (
        frozenset({"model", "errors", "policy", "control"}),
        frozenset({"httpx2", "matplotlib", "openai", "pydantic"}),
    ),
    # Its programs import the libraries, in a sandbox: reach/inside.
    "reach": (frozenset({"model", "errors", "gate", "control", "runtime"}), frozenset({"pydantic"})),
    # It looks at sandboxes from outside, with libseccomp's tables and kernel calls that Python lacks; its harness makes
    # cgroups, uid blocks and namespaces around the whole.
    "verify": (
        frozenset(
            {"model", "errors", "policy", "control", "runtime"}
            | {f"launcher.{name}" for name in ("syscalls", "cgroups", "claims", "usermaps")}
        ),
        frozenset(),
    ),
    # A program, not a module: what people run instead of a sandbox, with the image's packages and the guest's code.
    "bench/worker": (frozenset({"guest", "launcher.memory"}), frozenset({"OCP", "build123d", "cadquery"})),
    "bench": (frozenset({"model", "errors", "policy", "control", "runtime"}), frozenset()),
    "cli": (
        frozenset(
            {
                "__init__",
                "model",
                "errors",
                "policy",
                "gate",
                "runtime",
                "egress",
                "control",
                "api",
                "batch",
                "cad",
                "reach",
                "verify",
                "bench",
            }
        ),
        frozenset({"pydantic", "rich"}),
    ),
}
DATA = ("images", "profiles")
INSIDE = ("verify/probes", "reach/inside")
"""Programs that only ever run in a sandbox, as the source of a job."""

STARTERS = frozenset(
    {"fork", "forkpty", "posix_spawn", "posix_spawnp", "popen", "system", "startfile"}
    | {f"{verb}{suffix}" for verb in ("exec", "spawn") for suffix in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")}
)
STARTING_MODULES = frozenset({"subprocess", "multiprocessing", "pty", "_posixsubprocess"})
MAY_START = (
    "launcher/",
    "runtime/process.py",
    "bench/bare.py",
    "bench/peers.py",
    "bench/stage.py",
    "bench/worker.py",
    "verify/harness.py",
    "verify/enclose.py",
)
MAY_USE_CTYPES = ("launcher/syscalls.py",)


def modules(source: Path) -> Iterator[tuple[str, ast.Module]]:
    """Every module of the package with its path relative to it; image data is not part of the program."""
    for path in sorted(source.rglob("*.py")):
        name = path.relative_to(source).as_posix()
        if not name.startswith(tuple(f"{folder}/" for folder in (*DATA, *INSIDE))):
            yield name, ast.parse(path.read_bytes(), name)


def imports(name: str, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and absolute dotted name of all that a module imports, at the top or anywhere else."""
    package = ["casemate", *name.split("/")[:-1]]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            prefix = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                yield node.lineno, f"{prefix}.{alias.name}"


def zone_of(name: str) -> str:
    """The folder, or the file itself where it has a row of its own."""
    whole = name.removesuffix(".py")
    return whole if whole in RULES else whole.split("/")[0]


def forbidden_imports(source: Path) -> list[str]:
    """Every import that no rule allows."""
    found = []
    for name, tree in modules(source):
        zone = zone_of(name)
        ours, others = RULES.get(zone, (frozenset(), frozenset()))
        if zone not in RULES:
            found.append(f"{name}: zone {zone} is not in the table")
        for line, target in imports(name, tree):
            first, *rest = target.split(".")
            if first != "casemate":
                if first not in sys.stdlib_module_names and first not in others:
                    found.append(f"{name}:{line}: {zone} may not import {target}")
                continue
            wanted = ".".join(rest) or "__init__"
            if wanted.split(".")[0] not in RULES:
                wanted = "__init__"  # a name of the public API
            if wanted.split(".")[0] != zone and not any(
                wanted == rule or wanted.startswith(f"{rule}.") for rule in ours
            ):
                found.append(f"{name}:{line}: {zone} may not import casemate.{wanted}")
    return found


def ctypes_users(source: Path) -> list[str]:
    """Every module that can reach C other than the one that may."""
    return [
        f"{name}:{line}: {target}"
        for name, tree in modules(source)
        if name not in MAY_USE_CTYPES
        for line, target in imports(name, tree)
        if target.split(".")[0] in ("ctypes", "_ctypes", "cffi")
    ]


def process_starters(source: Path) -> list[str]:
    """Every place that could start a process, by import or by a name of os, asyncio or concurrent.futures."""
    found = []
    for name, tree in modules(source):
        if name.startswith(MAY_START):
            continue
        for line, target in imports(name, tree):
            parts = target.split(".")
            if parts[0] in STARTING_MODULES or (parts[0] in ("os", "posix") and parts[-1] in STARTERS):
                found.append(f"{name}:{line}: {target}")
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and (
                node.attr in ("create_subprocess_exec", "create_subprocess_shell", "ProcessPoolExecutor")
                or (node.attr in STARTERS and isinstance(node.value, ast.Name) and node.value.id in ("os", "posix"))
            ):
                found.append(f"{name}:{node.lineno}: {ast.unparse(node)}")
    return found


def plant(root: Path, name: str, text: str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return root


def test_imports_keep_to_the_table() -> None:
    assert forbidden_imports(SOURCE) == []


def test_the_table_has_no_cycle_through_the_trusted_base() -> None:
    assert RULES["launcher"] == (frozenset(), frozenset())
    importing = [zone for zone, (ours, _) in RULES.items() if "guest" in ours]
    assert importing == ["bench/worker"]  # a program of its own, without a wall and without the library


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("launcher/keeper.py", "import rich"),
        ("launcher/keeper.py", "from casemate.model import Limits"),
        ("launcher/keeper.py", "def f():\n    from ..errors import Denied"),
        ("gate/visitor.py", "from casemate.runtime import images"),
        ("gate/visitor.py", "import numpy"),
        ("policy/decide.py", "from casemate import run"),
        ("runtime/pool.py", "import casemate.launcher.keeper"),
        ("runtime/pool.py", "from casemate.launcher import keeper"),
        ("control/runs.py", "from ..guest.script import run"),
        ("cli/run.py", "import casemate.launcher.spec"),
        ("novelty/thing.py", ""),
    ],
)
def test_a_planted_import_is_found(tmp_path: Path, name: str, text: str) -> None:
    assert len(forbidden_imports(plant(tmp_path, name, text))) == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("runtime/pool.py", "from casemate.launcher import spec\nfrom casemate.launcher.syscalls import openat2"),
        ("launcher/keeper.py", "from . import spec\nfrom .steps import STEPS\nimport os.path"),
        ("cli/run.py", "import casemate\nfrom casemate import Host, run\nfrom casemate.control.runs import perform"),
    ],
)
def test_an_allowed_import_passes(tmp_path: Path, name: str, text: str) -> None:
    assert forbidden_imports(plant(tmp_path, name, text)) == []


def test_only_the_system_call_module_reaches_c() -> None:
    assert ctypes_users(SOURCE) == []


@pytest.mark.parametrize("text", ["import ctypes", "def f():\n    from ctypes import CDLL", "import ctypes.util as u"])
def test_a_planted_use_of_ctypes_is_found(tmp_path: Path, text: str) -> None:
    assert len(ctypes_users(plant(tmp_path, "launcher/keeper.py", text))) == 1


def test_only_the_launcher_and_the_modules_named_start_processes() -> None:
    assert process_starters(SOURCE) == []


@pytest.mark.parametrize(
    "text",
    [
        "import subprocess",
        "from os import posix_spawn",
        "import os\nos.execve('/bin/sh', [], {})",
        "import os\npid = os.fork()",
        "import asyncio\nstart = asyncio.create_subprocess_exec",
        "from multiprocessing import Process",
    ],
)
def test_a_planted_process_start_is_found(tmp_path: Path, text: str) -> None:
    assert len(process_starters(plant(tmp_path, "control/runs.py", text))) == 1


def test_the_public_links_lead_to_the_packaged_data() -> None:
    top = SOURCE.parent.parent
    for name in DATA:
        assert (top / name).readlink() == Path("src/casemate") / name
        assert (top / name).is_dir()
