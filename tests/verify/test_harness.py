"""What the harness is: seen from inside by a program that is started there."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from processes import fields, wait_until

from casemate.launcher import cgroups, claims
from casemate.verify import harness

NEEDS_CGROUP = pytest.mark.skipif(bool(cgroups.survey().missing), reason="no cgroup can be made here")
LOOK = '''
import json, os, socket, sys
def refused(deed):
    try:
        deed()
    except OSError as error:
        return type(error).__name__
    return "it worked"
print(json.dumps({
    "pid": os.getpid(),
    "maps": [line.split() for line in open("/proc/self/uid_map")],
    "namespaces": {name: os.readlink(f"/proc/self/ns/{name}") for name in ("user", "pid", "mnt", "net", "ipc", "uts")},
    "interfaces": [name for _, name in socket.if_nameindex()],
    "write": {path: refused(lambda: open(f"{path}/casemate-test", "w").close()) for path in ("/etc", "/usr", "/opt")},
    "tmp": os.listdir("/tmp"),
    "cgroup": open("/proc/self/cgroup").read(),
    "capabilities over the host": refused(lambda: os.setxattr("/etc/passwd", "trusted.x", b"1")),
    "others": sorted(int(name) for name in os.listdir("/proc") if name.isdigit()),
}))
'''  # fmt: skip


def _seen(directory: Path) -> dict[str, object]:
    directory.chmod(0o755)
    package = directory / "inside"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "look.py").write_text(LOOK)
    for parent in (package, *directory.parents):
        if parent.is_relative_to("/tmp") and parent != Path("/tmp"):
            parent.chmod(0o755)
    with harness.harness("inside.look", [], package, dict(os.environ), harness.Bounds(), []) as started:
        out, _ = started.process.communicate(timeout=30)
        assert started.process.returncode == 0, started.complaint()
    found: dict[str, object] = json.loads(out)
    return found


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    if cgroups.survey().missing:
        pytest.skip("no cgroup can be made here")
    return _seen(tmp_path_factory.mktemp("harness"))


def test_every_namespace_is_another(seen: dict[str, object]) -> None:
    theirs = seen["namespaces"]
    assert isinstance(theirs, dict)
    assert {name for name, link in theirs.items() if os.readlink(f"/proc/self/ns/{name}") == link} == set()


def test_nobody_else_is_there_and_no_way_out(seen: dict[str, object]) -> None:
    assert seen["pid"] == 1
    assert seen["others"] == [1]
    assert seen["interfaces"] == ["lo"]


def test_the_host_cannot_be_written(seen: dict[str, object]) -> None:
    assert seen["write"] == dict.fromkeys(("/etc", "/usr", "/opt"), "OSError")  # EROFS
    assert seen["capabilities over the host"] != "it worked"


def test_few_uids_are_mapped(seen: dict[str, object]) -> None:
    maps = seen["maps"]
    assert isinstance(maps, list)
    assert sum(int(row[2]) for row in maps) <= 1 + 2 * 4096


def test_it_is_below_our_own_group_in_one_of_its_own(seen: dict[str, object]) -> None:
    assert "/casemate-verify-" in str(seen["cgroup"])


@NEEDS_CGROUP
def test_the_fence_bounds_tasks_and_kills_what_is_left(tmp_path: Path) -> None:
    bomb = (
        "import os, time\nn = 0\ntry:\n    while n < 100:\n        n += 1\n        if os.fork() == 0: time.sleep(60)\n"
    )
    bomb += "except OSError: pass\nprint(n, flush=True)\n"
    argv = [shutil.which("python3") or "", "-c", bomb]
    with harness.fence(argv, dict(os.environ), harness.Bounds(memory=1 << 30, tasks=20, cpus=1.0)) as (process, group):
        assert isinstance(process, subprocess.Popen)
        assert process.stdout is not None
        assert int(process.stdout.readline()) < 25
        assert len(group.members()) > 10
        tops = group.directories()
    assert [top for top in tops if os.path.exists(top)] == []


HOLD = """
import os, sys
from pathlib import Path
from casemate.verify import harness
harness.default_state = lambda: Path(sys.argv[1])
with harness.fence([sys.executable, "-c", "import time; time.sleep(600)"], dict(os.environ), harness.Bounds()) as made:
    process, group = made
    while not group.members():
        pass
    print(process.pid, *group.directories(), flush=True)
    sys.stdin.read()
"""


def killed(state: Path) -> tuple[int, list[str]]:
    """What is left of a harness whose maker was killed: the process in it, and its groups; recorded in `state`."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(state)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert holder.stdout is not None
    pid, *groups = holder.stdout.readline().split()
    holder.kill()
    holder.communicate()
    return int(pid), [os.path.dirname(group) for group in groups]


@NEEDS_CGROUP
def test_what_a_killed_one_left_is_swept_as_a_keepers_is(tmp_path: Path) -> None:
    pid, groups = killed(tmp_path / "state")
    assert fields(pid)
    assert all(map(os.path.isdir, groups))
    state = claims.State(str(tmp_path / "state"))
    assert wait_until(lambda: not state.sweep() and not any(map(os.path.isdir, groups)), 10)
    assert not fields(pid)


@NEEDS_CGROUP
def test_twin_without_a_record_it_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pid, groups = killed(tmp_path / "state")
    state = claims.State(str(tmp_path / "state"))
    monkeypatch.setattr(claims, "_recorded", lambda _: [])
    state.sweep()
    assert fields(pid)
    assert all(map(os.path.isdir, groups))
    os.kill(pid, signal.SIGKILL)
    assert wait_until(lambda: all(map(cgroups.remove_tree, groups)), 10)


def test_an_edit_that_does_not_match_once_is_refused(tmp_path: Path) -> None:
    with pytest.raises(harness.SandboxFault, match="matches 0 times"):
        harness.weakened(tmp_path, [("launcher/steps.py", "there is no such text", "")])


def test_without_controllers_nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroups, "survey", lambda: cgroups.Survey((), (("memory", "not here"),)))
    with (
        pytest.raises(harness.NoHarness, match="no cgroup can be made"),
        harness.fence(["/bin/true"], {}, harness.Bounds()),
    ):
        raise AssertionError("it ran")


def test_nothing_of_the_directory_that_we_are_in_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`python -m` looks there first; whoever verifies may stand in a directory that somebody else wrote."""
    (tmp_path / "json.py").write_text("raise SystemExit(7)\n")
    (tmp_path / "casemate").mkdir()
    (tmp_path / "casemate" / "__init__.py").write_text("raise SystemExit(8)\n")
    monkeypatch.chdir(tmp_path)
    twin = subprocess.run(
        [sys.executable, "-m", "casemate.verify.source"], check=False, env={"PYTHONPATH": str(harness.PACKAGE.parent)}
    )
    assert twin.returncode == 8
    with harness.plain("casemate.verify.source", [], {}) as started:
        started.process.wait(60)
        assert started.process.returncode == 0, started.complaint()
