"""A group's limits, counters, kill and removal: on directories that stand for cgroupfs, and on this machine's own."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from harness import wait_until
from launcher.cgroupfs import V1, Kernel

from casemate.launcher import cgroups, hierarchies
from casemate.launcher.cgroups import Group
from casemate.launcher.hierarchies import Hierarchy


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    return Kernel(tmp_path, monkeypatch)


@pytest.fixture
def v1(kernel: Kernel) -> Group:
    directories = {}
    for name in V1:
        (kernel.root / name).mkdir()
        directories[Hierarchy(1, frozenset([name]), str(kernel.root / name))] = str(kernel.root / name)
    return Group("keeper", directories)


@pytest.fixture
def v2(kernel: Kernel) -> Group:
    (kernel.root / "unified").mkdir()
    own = str(kernel.root / "unified")
    return Group("keeper", {Hierarchy(2, frozenset(["cpu", "memory", "pids"]), own): own})


def test_limits_v1(v1: Group, kernel: Kernel) -> None:
    v1.child("box", inner=True).limit(memory=1 << 30, processes=34, cpus=1.5)
    # memory and swap together is the second file; a quota is microseconds of each 100 ms.
    assert {path: text for path, text in kernel.log if "/box/" in path} == {
        "memory/box/memory.limit_in_bytes": "1073741824",
        "memory/box/memory.memsw.limit_in_bytes": "1073741824",
        "pids/box/pids.max": "34",
        "cpu/box/cpu.cfs_quota_us": "150000",
    }


TITLES = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"


@pytest.mark.parametrize("swaps", [TITLES, f"{TITLES}/dev/vdb partition 1048572 0 -2\n"], ids=["off", "on"])
def test_limits_v1_without_swap_accounting(
    swaps: str, v1: Group, kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = v1.child("box")
    (kernel.root / "memory/box/memory.memsw.limit_in_bytes").unlink()
    (tmp_path / "swaps").write_text(swaps, "ascii")
    monkeypatch.setattr(cgroups, "SWAPS", str(tmp_path / "swaps"))
    # Where there is swap, memory would go on there past its bound.
    with contextlib.nullcontext() if swaps == TITLES else pytest.raises(OSError, match="swap is on"):
        box.limit(memory=4096, processes=1, cpus=0.5)
    assert (kernel.root / "memory/box/memory.limit_in_bytes").read_text().startswith("4096")


def test_limits_v2(v2: Group, kernel: Kernel) -> None:
    v2.child("box", inner=True).limit(memory=1 << 30, processes=34, cpus=1.5)
    assert {path: text for path, text in kernel.log if "/box/" in path} == {
        "unified/box/cgroup.subtree_control": "+cpu +memory +pids",
        "unified/box/memory.max": "1073741824",
        "unified/box/memory.swap.max": "0",
        "unified/box/pids.max": "34",
        "unified/box/cpu.max": "150000 100000",
    }


def test_a_leaf_passes_nothing_on(v2: Group, kernel: Kernel) -> None:
    v2.child("box", inner=True).child("exec-1")
    assert not [path for path, _ in kernel.log if "exec-1/cgroup.subtree_control" in path]


def test_a_limit_without_its_controller_is_an_error(kernel: Kernel) -> None:
    (kernel.root / "memory").mkdir()
    own = str(kernel.root / "memory")
    with pytest.raises(OSError, match="pids"):
        Group("x", {Hierarchy(1, frozenset(["memory"]), own): own}).limit(memory=1, processes=1, cpus=1.0)


def test_counters_v1(v1: Group, kernel: Kernel) -> None:
    box = v1.child("box")
    box.child("exec-1")
    box.child("init")
    assert (box.cpu_seconds(), box.memory_peak(), box.processes_peak()) == (0.0, 0, 0)
    assert (box.oom_kills(), box.refused_forks()) == (0, 0)
    (kernel.root / "cpuacct/box/cpuacct.usage").write_text("2500000000\n")
    (kernel.root / "memory/box/memory.max_usage_in_bytes").write_text("12345\n")
    (kernel.root / "pids/box/pids.peak").write_text("7\n")
    for path, number in (("box", 1), ("box/exec-1", 2), ("box/init", 4)):
        (kernel.root / "memory" / path / "memory.oom_control").write_text(f"under_oom 0\noom_kill {number}\n")
        (kernel.root / "pids" / path / "pids.events").write_text(f"max {number}\n")
    assert (box.cpu_seconds(), box.memory_peak(), box.processes_peak()) == (2.5, 12345, 7)
    # On v1 the kernel counts where the task was: the children's are added.
    assert (box.oom_kills(), box.refused_forks()) == (7, 7)


def test_counters_v2(v2: Group, kernel: Kernel) -> None:
    box = v2.child("box")
    box.child("exec-1")
    top = kernel.root / "unified/box"
    (top / "cpu.stat").write_text("usage_usec 2500000\nuser_usec 2000000\nsystem_usec 500000\n")
    (top / "memory.peak").write_text("12345\n")
    (top / "pids.peak").write_text("7\n")
    # memory.events is hierarchical by itself: what a child counted is in it already.
    for path in (top, top / "exec-1"):
        (path / "memory.events").write_text("oom 2\noom_kill 2\noom_group_kill 0\n")
    (top / "exec-1/pids.events").write_text("max 3\n")
    assert (box.cpu_seconds(), box.memory_peak(), box.processes_peak()) == (2.5, 12345, 7)
    assert (box.oom_kills(), box.refused_forks()) == (2, 3)


def test_counters_that_the_kernel_lacks(v2: Group, kernel: Kernel) -> None:
    box = v2.child("box")
    for name in ("memory.peak", "pids.peak", "cpu.stat"):  # memory.peak came with Linux 5.19, pids.peak with 6.1
        (kernel.root / "unified/box" / name).unlink()
    assert (box.cpu_seconds(), box.memory_peak(), box.processes_peak()) == (-1.0, -1, -1)


@pytest.fixture
def unreadable(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Names of control files that are not for us to read."""
    names: set[str] = set()
    plain = open

    def refusing(path: str, **rest: Any) -> Any:
        if os.path.basename(path) in names:
            raise PermissionError(errno.EACCES, "no", path)
        return plain(path, **rest)

    monkeypatch.setattr(hierarchies, "open", refusing, raising=False)
    return names


COUNTERS: dict[str, tuple[Callable[[Group], object], str, str]] = {
    "members": (Group.members, "cgroup.procs", "cgroup.procs"),
    "processes": (Group.processes, "cgroup.procs", "cgroup.procs"),
    "memory": (Group.memory_used, "memory.usage_in_bytes", "memory.current"),
    "cpu": (Group.cpu_seconds, "cpuacct.usage", "cpu.stat"),
    "memory peak": (Group.memory_peak, "memory.max_usage_in_bytes", "memory.peak"),
    "oom kills": (Group.oom_kills, "memory.oom_control", "memory.events"),
    "refused forks": (Group.refused_forks, "pids.events", "pids.events"),
    "processes peak": (Group.processes_peak, "pids.peak", "pids.peak"),
    "limits": (Group.limits, "pids.max", "pids.max"),
}


@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("name", COUNTERS)
def test_what_cannot_be_read_of_our_own_group_is_not_empty(
    name: str, version: str, unreadable: set[str], request: pytest.FixtureRequest
) -> None:
    box = request.getfixturevalue(version).child("box")
    box.child("exec-1")
    look, file1, file2 = COUNTERS[name]
    look(box)
    unreadable.add(file1 if version == "v1" else file2)
    with pytest.raises(PermissionError):
        look(box)


def test_a_leafs_counter_that_cannot_be_read_is_not_zero(v1: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    box = v1.child("box")
    box.child("exec-1")
    plain = cgroups.read

    def refusing(path: str) -> str:
        if "/exec-1/" in path:
            raise PermissionError(errno.EACCES, "no", path)
        return plain(path)

    monkeypatch.setattr(cgroups, "read", refusing)
    with pytest.raises(PermissionError):
        box.oom_kills()


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_a_group_that_is_gone_is_empty(version: str, request: pytest.FixtureRequest) -> None:
    box = request.getfixturevalue(version).child("box")
    assert box.remove()
    assert (box.members(), box.cpu_seconds(), box.memory_peak(), box.oom_kills()) == ((), -1.0, -1, 0)


def test_groups_above_that_are_not_for_us_to_read_offer_nothing(kernel: Kernel, unreadable: set[str]) -> None:
    (kernel.root / "unified").mkdir()
    unreadable.add("cgroup.controllers")
    found = cgroups.survey(f"1 1 0:1 / {kernel.root}/unified rw - cgroup2 cgroup2 rw", "0::/")
    assert {name for name, _ in found.missing} == {"memory", "pids", "cpu"}


def test_kill_v2_is_one_write(v2: Group, kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    box = v2.child("box")
    (kernel.root / "unified/box/cgroup.procs").write_text("1\n")
    monkeypatch.setattr(os, "kill", lambda *_: pytest.fail("signalled one by one"))
    kernel.log.clear()
    box.kill()
    assert kernel.log == [("unified/box/cgroup.kill", "1")]


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_kill_without_cgroup_kill_signals_every_member(
    version: str, kernel: Kernel, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = request.getfixturevalue(version).child("box")
    box.child("exec-1")
    first = kernel.root / ("memory" if version == "v1" else "unified") / "box"
    (first / "cgroup.kill").unlink(missing_ok=True)  # came with Linux 5.14
    (first / "cgroup.procs").write_text("101\n102\n")
    (first / "exec-1/cgroup.procs").write_text("103\n")
    killed = []

    def kill(pid: int, number: int) -> None:
        killed.append((pid, number))
        if pid == 101:
            raise ProcessLookupError

    monkeypatch.setattr(os, "kill", kill)
    assert box.members() == (101, 102, 103)
    box.kill()
    assert sorted(killed) == [(pid, signal.SIGKILL) for pid in (101, 102, 103)]


def test_remove_takes_what_is_below(v1: Group, kernel: Kernel) -> None:
    box = v1.child("box")
    box.child("exec-1")
    procs = kernel.root / "pids/box/exec-1/cgroup.procs"
    procs.write_text("101\n")
    assert not box.remove()
    procs.write_text("")
    assert box.remove()
    assert box.remove()  # gone is gone
    assert not list(kernel.root.glob("*/box"))


def place(kernel: Kernel, pids: str) -> cgroups.Survey:
    (kernel.root / "unified").mkdir()
    (kernel.root / "unified/cgroup.procs").write_text(pids)
    own = Hierarchy(2, frozenset(["cpu", "memory", "pids"]), str(kernel.root / "unified"))
    return cgroups.Survey((own,), ())


def test_a_delegated_group_with_processes_is_divided(kernel: Kernel) -> None:
    group = cgroups.keeper_group(place(kernel, "101\n102\n"), "casemate-1-2")
    top = kernel.root / "unified"
    assert group is not None
    assert (top / "casemate-callers/cgroup.procs").read_text().split() == ["101", "102"]
    assert (top / "cgroup.procs").read_text() == ""
    assert (top / "cgroup.subtree_control").read_text() == "+cpu +memory +pids"
    assert (top / "casemate-1-2/cgroup.subtree_control").read_text() == "+cpu +memory +pids"
    # A second keeper finds it divided, and moves nobody.
    (top / "cgroup.subtree_control").write_text("cpu memory pids\n")
    kernel.log.clear()
    assert cgroups.keeper_group(cgroups.Survey(tuple(group._directories), ()), "casemate-3-4") is not None
    assert not [path for path, _ in kernel.log if path.endswith("cgroup.procs")]


def test_a_group_is_divided_for_a_keeper_that_could_not_do_it(kernel: Kernel) -> None:
    cgroups.divide(place(kernel, "101\n"))
    top = kernel.root / "unified"
    assert (top / "casemate-callers/cgroup.procs").read_text().split() == ["101"]
    assert (top / "cgroup.subtree_control").read_text() == "+cpu +memory +pids"
    assert {path.name for path in top.iterdir() if path.is_dir()} == {"casemate-callers"}


@pytest.mark.parametrize(("forks", "divided"), [(1, True), (1000, False)])
def test_what_forks_while_a_group_is_divided_is_moved_too(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch, forks: int, divided: bool
) -> None:
    survey, top = place(kernel, "101\n"), kernel.root / "unified"
    children = iter(range(200, 200 + forks))

    def write(path: str, text: str) -> None:
        kernel.write(path, text)
        if path.endswith("casemate-callers/cgroup.procs") and (child := next(children, None)):
            (top / "cgroup.procs").write_text(f"{child}\n")  # of one that was still there

    monkeypatch.setattr(cgroups, "_write", write)
    if not divided:
        with pytest.raises(OSError, match="no internal processes"):
            cgroups.keeper_group(survey, "casemate-1-2")
        return
    assert cgroups.keeper_group(survey, "casemate-1-2") is not None
    assert (top / "casemate-callers/cgroup.procs").read_text().split() == ["101", "200"]
    assert (top / "cgroup.procs").read_text() == ""


@pytest.mark.parametrize("number", [errno.EBUSY, errno.EACCES])
def test_a_group_that_cannot_be_divided_is_an_error(
    number: int, kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = place(kernel, "101\n")

    def write(path: str, text: str) -> None:
        if path.endswith("cgroup.subtree_control"):
            raise OSError(number, "no", path)

    monkeypatch.setattr(cgroups, "_write", write)
    with pytest.raises(OSError, match="no"):
        cgroups.keeper_group(found, "casemate-1-2")
    # Nobody is moved about unless that can help.
    assert (kernel.root / "unified/casemate-callers").exists() == (number == errno.EBUSY)


def test_a_group_within_is_only_divided_if_it_was_given(v2: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    box = v2.child("box")
    (directory,) = box.directories()
    monkeypatch.setattr(os, "geteuid", lambda: 0)

    def missing() -> set[str]:
        mounts = f"1 1 0:1 / {os.path.dirname(directory)} rw - cgroup2 cgroup2 rw"
        return {name for name, _ in cgroups.survey(mounts, "0::/box").missing}

    assert missing() == {"memory", "pids", "cpu"}
    box.delegate()
    assert missing() == set()


def test_an_empty_delegated_group_needs_no_leaf(kernel: Kernel) -> None:
    assert cgroups.keeper_group(place(kernel, ""), "casemate-1-2") is not None
    assert not (kernel.root / "unified/casemate-callers").exists()


def test_a_group_that_is_not_ours_is_left_alone(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    place(kernel, "101\n")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    inner = kernel.root / "unified/session.scope"
    os.mkdir(str(inner))
    (inner / "cgroup.procs").write_text("102\n")
    kernel.log.clear()
    found = cgroups.survey(f"1 1 0:1 / {kernel.root}/unified rw - cgroup2 cgroup2 rw", "0::/session.scope")
    assert cgroups.keeper_group(found, "casemate-1-2") is None
    assert kernel.log == []
    assert (inner / "cgroup.procs").read_text() == "102\n"
    assert not any(entry.is_dir() for entry in os.scandir(inner))


def test_a_real_group_holds_kills_and_goes() -> None:
    found = cgroups.survey()
    real = cgroups.keeper_group(found, f"casemate-test-{uuid.uuid4().hex[:12]}")
    if real is None:
        # An ordinary user without delegation: each controller is named, and nothing was made.
        assert found.missing
        assert cgroups.keeper_directories(found, "casemate-x") == ()
        return
    assert real.directories() == cgroups.keeper_directories(found, real.name)
    box = real.child("box", inner=True)
    box.limit(memory=64 << 20, processes=8, cpus=0.5)
    leaf = box.child("exec-1")
    procs = leaf.open_procs()
    enter = "import os, sys\nfor fd in sys.argv[1:]:\n    os.write(int(fd), b'0')\nos.execvp('sleep', ['sleep', '600'])"
    sleeper = subprocess.Popen([sys.executable, "-S", "-c", enter, *map(str, procs)], pass_fds=procs)
    for fd in procs:
        os.close(fd)
    try:
        assert wait_until(lambda: Path(f"/proc/{sleeper.pid}/comm").read_text().strip() == "sleep", 10)
        assert box.members() == (sleeper.pid,)
        mine = Path(f"/proc/{sleeper.pid}/cgroup").read_text()
        assert mine.count(f"/{real.name}/box/exec-1\n") == len(box.directories())
        assert not real.remove()
        assert box.cpu_seconds() > 0
        assert 0 < box.memory_peak() <= 64 << 20
        assert (box.oom_kills(), box.refused_forks()) == (0, 0)
        box.kill()
        assert sleeper.wait(10) == -signal.SIGKILL
    finally:
        sleeper.kill()
        sleeper.wait()
        assert wait_until(real.remove, 10)
    assert not any(os.path.exists(directory) for directory in real.directories())
