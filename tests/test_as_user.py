"""The walls once more as an ordinary uid, which this test makes: root's walls and a user's differ in every step.

What it needs is copied to where that uid can read: the interpreter, the environment, the project. Root gives it a
cgroup of its own, as an administrator would, so that the harness can make groups around attacks; the run without one
is `test_without_a_cgroup_the_strong_profile_is_refused`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from runtimes import profile_under, require

from casemate.launcher import cgroups

ROOT = Path(__file__).parents[1]
UID = GID = 61_234
# What differs for a user is how walls are built and limits are held. The gate, the guest's own parts, the image and
# what a script gives are the same for every uid, and the whole run must stay within twenty minutes; `make test` as an
# ordinary user runs everything. Sandboxes that were made ahead are built as those on demand are.
SUITES = (
    "tests/escape/test_first_path.py",
    "tests/escape/test_guards.py",
    "tests/escape/test_descriptors.py",
    "tests/escape/test_neighbours.py",
    "tests/escape/test_programs.py::test_every_attack_is_held",
    "tests/control/test_programs.py::test_an_honest_program",
)
UNUSED = ("pip", "mypy*", "pyarrow*", "matplotlib*", "numpy*", "PIL", "pillow*", "fontTools", "fonttools*")
"""Packages that none of SUITES imports, and that are large."""
COMMAND = "import sys\nfrom casemate.cli import main\nsys.exit(main(sys.argv[1:]))\n"
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="this is the ordinary user's run already")

_ENTER = """
import os, sys
for fd in sys.argv[1].split(","):
    if fd:
        os.write(int(fd), b"0")
        os.close(int(fd))
os.setgroups([])
os.setresgid({gid}, {gid}, {gid})
os.setresuid({uid}, {uid}, {uid})
os.chdir(sys.argv[2])
os.execv(sys.argv[3], sys.argv[3:])
""".replace("{uid}", str(UID)).replace("{gid}", str(GID))


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """A directory of the user's with a copy of everything that the suite needs."""
    place = Path(tempfile.mkdtemp(prefix="casemate-user-", dir="/var/tmp"))
    left = ("site-packages", "test", "tests", "idlelib", "tkinter", "ensurepip", "lib2to3")
    skip = shutil.ignore_patterns("__pycache__", *left)
    skip_bytecode = shutil.ignore_patterns("__pycache__")
    base = Path(sys.base_prefix)
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    (place / "python" / "bin").mkdir(parents=True)
    shutil.copy2(base / "bin" / version, place / "python" / "bin" / version)
    shutil.copytree(base / "lib" / version, place / "python" / "lib" / version, ignore=skip, symlinks=True)
    for library in (base / "lib").glob("libpython*.so*"):
        shutil.copy2(library, place / "python" / "lib" / library.name)
    packages = Path(pytest.__file__).parents[1]
    shutil.copytree(
        packages,
        place / "packages",
        ignore=shutil.ignore_patterns("__pycache__", "mypy*", "pip", *UNUSED),
        symlinks=True,
    )
    (place / "project").mkdir()
    for name in ("src", "tests", "examples", "profiles", "images", "pyproject.toml"):
        source = ROOT / name
        copy = shutil.copytree if source.is_dir() and not source.is_symlink() else shutil.copy
        # Other tests write bytecode meanwhile.
        options = {"ignore": skip_bytecode} if copy is shutil.copytree else {"follow_symlinks": False}
        copy(source, place / "project" / name, **options)
    for directory, names, files in os.walk(place):
        for name in (".", *names, *files):
            os.chown(os.path.join(directory, name), UID, GID, follow_symlinks=False)
    os.chmod(place, 0o755)
    yield place
    shutil.rmtree(place)


@pytest.fixture
def delegated() -> Iterator[cgroups.Group]:
    """A group below ours, given to the user."""
    made = cgroups.keeper_group(cgroups.survey(), f"casemate-test-{uuid.uuid4().hex[:12]}")
    assert made is not None
    for directory in made.directories():
        os.chown(directory, UID, GID)
        for name in ("cgroup.procs", "tasks", "cgroup.subtree_control"):
            if os.path.exists(f"{directory}/{name}"):
                os.chown(f"{directory}/{name}", UID, GID)
    yield made
    assert made.remove(), f"the user's run left {made.members()}"


def as_user(home: Path, procs: tuple[int, ...], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the copied interpreter with `arguments` as the user, in the groups of `procs`."""
    interpreter = next((home / "python" / "bin").iterdir())
    return subprocess.run(
        [sys.executable, "-c", _ENTER, ",".join(map(str, procs)), str(home / "project"), str(interpreter), *arguments],
        pass_fds=procs,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={
            "HOME": str(home),
            "PATH": "/usr/bin:/bin",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": f"{home / 'project' / 'src'}:{home / 'packages'}",
        }
        | ({"CI": "true"} if "CI" in os.environ else {}),
        check=False,
    )


@pytest.mark.timeout(900)
def test_the_suite_passes_as_an_ordinary_user(home: Path, delegated: cgroups.Group) -> None:
    procs = delegated.open_procs()
    ran = as_user(
        home,
        procs,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--basetemp",
        str(home / "tmp"),
        "-k",
        "not demand and not built_for_it",
        *SUITES,
    )
    for fd in procs:
        os.close(fd)
    assert ran.returncode == 0, ran.stdout[-6000:] + ran.stderr[-2000:]
    assert " passed" in ran.stdout.splitlines()[-1]
    assert "skipped" not in ran.stdout.splitlines()[-1]


def test_without_a_cgroup_the_strong_profile_is_refused(home: Path) -> None:
    ran = as_user(home, (), "-c", COMMAND, "run", "examples/motor_bracket.py", "--profile", "cad")
    assert ran.returncode == 3
    assert "cgroup-memory, cgroup-pids, cgroup-cpu" in ran.stderr
    assert "'cad-rlimit' is enforceable here" in ran.stderr


def test_without_a_cgroup_the_rlimit_profile_runs(home: Path) -> None:
    ran = as_user(home, (), "-c", COMMAND, "run", "examples/motor_bracket.py", "--profile", "strongest", "--json")
    assert ran.returncode == 0, ran.stderr
    assert '"profile": "cad-rlimit"' in ran.stdout
    assert '"cgroup-memory"' in ran.stdout  # reported as degraded


@pytest.mark.parametrize("runtime", ["crun", "runc"])
def test_a_runtime_makes_a_users_room(home: Path, delegated: cgroups.Group, runtime: str) -> None:
    require(runtime)
    profile = profile_under(home, runtime, "python")
    os.chmod(profile, 0o644)
    procs = delegated.open_procs()
    program = "tests/data/programs/output/026.py"
    ran = as_user(home, procs, "-c", COMMAND, "run", program, "--profile", profile, "--json")
    for fd in procs:
        os.close(fd)
    assert ran.returncode == 0, ran.stderr
    layers = {layer["name"]: layer for layer in json.loads(ran.stdout)["enforcement"]["layers"]}
    assert layers["room.user"]["detail"].endswith(f"1 uid extents, by {runtime}")
    assert layers["room.cgroup"]["detail"].endswith("hierarchies, by the keeper")
    assert layers["keeper.room"]["detail"].startswith(f"uid {UID}, 7 namespaces of its own")
    assert all(layer["on"] for layer in layers.values())


def test_a_runtime_needs_no_cgroup(home: Path) -> None:
    require("crun")
    profile = profile_under(home, "crun", "python-rlimit")
    os.chmod(profile, 0o644)
    program = "tests/data/programs/output/026.py"
    ran = as_user(home, (), "-c", COMMAND, "run", program, "--profile", profile, "--json")
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)["enforcement"]
    assert set(found["degraded"]) >= {"cgroup-memory", "cgroup-pids", "cgroup-cpu"}
    assert {layer["name"] for layer in found["layers"] if not layer["on"]} >= {"room.cgroup"}


def test_without_a_cgroup_plain_programs_run_under_the_rlimit_profile_alone(home: Path) -> None:
    program = "tests/data/programs/output/026.py"
    refused = as_user(home, (), "-c", COMMAND, "run", program, "--profile", "python")
    assert refused.returncode == 3
    assert "'python-rlimit' is enforceable here" in refused.stderr
    ran = as_user(home, (), "-c", COMMAND, "run", program, "--profile", "python-rlimit", "--json")
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found["stdout"]["text"] == "[False, False, False]\n"
    assert {"cgroup-memory", "cgroup-pids", "cgroup-cpu"} <= set(found["enforcement"]["degraded"])


@pytest.mark.long
@pytest.mark.timeout(400)
def test_a_users_boundary_holds_under_a_delegated_cgroup(home: Path, delegated: cgroups.Group) -> None:
    procs = delegated.open_procs()
    ran = as_user(home, procs, "-c", COMMAND, "verify", "--profile", "python", "--json")
    for fd in procs:
        os.close(fd)
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-2000:]
    assert len([f for f in json.loads(ran.stdout)["findings"] if f["verdict"] == "held"]) >= 250


@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    ("only", "least"),
    [
        # What a cgroup holds, and what one uid shares; the other families do not know of either.
        (("--only", "memory", "processes", "disk", "time", "identity", "control", "neighbours"), 110),
        pytest.param((), 600, marks=pytest.mark.long),
    ],
    ids=["limits", "whole"],
)
def test_a_users_boundary_without_a_cgroup_is_that_of_the_rlimit_profile(
    home: Path, only: tuple[str, ...], least: int
) -> None:
    refused = as_user(home, (), "-c", COMMAND, "verify", "--profile", "python")
    assert refused.returncode == 3
    assert "'python-rlimit' is enforceable here" in refused.stderr
    ran = as_user(home, (), "-c", COMMAND, "verify", "--profile", "python-rlimit", "--json", *only)
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-2000:]
    verdicts = [finding["verdict"] for finding in json.loads(ran.stdout)["findings"]]
    assert len(verdicts) >= least
    assert set(verdicts) == {"held", "declared-open"}
