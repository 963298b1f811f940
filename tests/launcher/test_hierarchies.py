"""Finding the cgroup hierarchies from the kernel's own texts, recorded on the hosts that people have."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from casemate.launcher import cgroups, hierarchies

DATA = Path(__file__).parents[1] / "data" / "cgroups"
V2 = "cpuset cpu io memory hugetlb pids rdma misc\n"


@dataclass(frozen=True)
class Recorded:
    """The two files of a host, with /sys/fs/cgroup moved to a directory of ours."""

    root: Path
    mountinfo: str
    cgroup: str

    def parse(self) -> tuple[hierarchies.Hierarchy, ...]:
        return hierarchies.parse(self.mountinfo, self.cgroup)

    def survey(self) -> hierarchies.Survey:
        return hierarchies.survey(self.mountinfo, self.cgroup)

    def group(self, path: str, *, controllers: str = V2, passed: str = "") -> Path:
        """Make what the kernel shows of a v2 group."""
        made = self.root / path
        made.mkdir(parents=True, exist_ok=True)
        (made / "cgroup.controllers").write_text(controllers)
        (made / "cgroup.subtree_control").write_text(passed)
        (made / "cgroup.procs").write_text("")
        return made


def recorded(name: str, root: Path) -> Recorded:
    text = (DATA / f"{name}.txt").read_text("utf-8").replace("/sys/fs/cgroup", str(root))
    _, _, rest = text.partition("--- mountinfo\n")
    mountinfo, _, cgroup = rest.partition("--- cgroup\n")
    return Recorded(root, mountinfo, cgroup)


def own(found: tuple[hierarchies.Hierarchy, ...], root: Path) -> dict[str, tuple[int, str]]:
    """controller → (version, the caller's group below the root)."""
    return {c: (h.version, os.path.relpath(h.own, root)) for h in found for c in h.controllers}


def test_v1(tmp_path: Path) -> None:
    found = own(recorded("v1", tmp_path).parse(), tmp_path)
    assert found["memory"] == (1, "memory/process_api/0123456789abcdef")
    assert found["cpu"] == (1, "cpu")
    assert found["cpuacct"] == (1, "cpuacct")
    assert found["pids"] == (1, "pids")


def test_v1_is_usable_where_it_is_writable(tmp_path: Path) -> None:
    host = recorded("v1", tmp_path)
    assert {name for name, _ in host.survey().missing} == {"memory", "pids", "cpu"}
    for path in ("memory/process_api/0123456789abcdef", "cpu", "cpuacct", "pids"):
        (tmp_path / path).mkdir(parents=True)
        (tmp_path / path / "cgroup.procs").touch()
    survey = host.survey()
    assert survey.missing == ()
    assert [survey.version(c) for c in ("memory", "pids", "cpu", "cpuacct", "io")] == [1, 1, 1, 1, 0]
    # Nothing that we do not use is touched later.
    assert {c for h in survey.hierarchies for c in h.controllers} == {"memory", "pids", "cpu", "cpuacct"}


def test_hybrid_uses_the_hierarchies_that_have_the_controllers(tmp_path: Path) -> None:
    host = recorded("hybrid", tmp_path)
    host.group("unified/system.slice/runner.service", controllers="")
    for path in ("memory", "cpu,cpuacct", "pids"):
        group = tmp_path / path / "system.slice/runner.service"
        group.mkdir(parents=True)
        (group / "cgroup.procs").touch()
    survey = host.survey()
    assert survey.missing == ()
    assert {h.version for h in survey.hierarchies} == {1}
    assert own(survey.hierarchies, tmp_path) == {
        "memory": (1, "memory/system.slice/runner.service"),
        "pids": (1, "pids/system.slice/runner.service"),
        "cpu": (1, "cpu,cpuacct/system.slice/runner.service"),
        "cpuacct": (1, "cpu,cpuacct/system.slice/runner.service"),
    }
    assert len(survey.hierarchies) == 3


def test_a_session_scope_is_not_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = recorded("v2-user-session", tmp_path)
    group = host.group("user.slice/user-1000.slice/session-3.scope")
    assert own(host.parse(), tmp_path)["memory"] == (2, "user.slice/user-1000.slice/session-3.scope")
    # Another owner than the caller, as for a user in a scope that belongs to root.
    monkeypatch.setattr(os, "geteuid", lambda: group.stat().st_uid + 1000)
    survey = host.survey()
    assert {name for name, _ in survey.missing} == {"memory", "pids", "cpu"}
    assert survey.hierarchies == ()
    for _, reason in survey.missing:
        assert "(v2)" in reason
        assert "Delegate=yes" in reason  # the remedy, systemd.resource-control(5)


def test_a_delegated_scope_is_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = recorded("v2-delegated-scope", tmp_path)
    path = "user.slice/user-1000.slice/user@1000.service/app.slice/run-r8f1c.scope"
    group = host.group(path)
    if os.geteuid() == 0:
        os.chown(group, 1000, -1)
    monkeypatch.setattr(os, "geteuid", lambda: group.stat().st_uid)
    survey = host.survey()
    assert survey.missing == ()
    assert own(survey.hierarchies, tmp_path) == dict.fromkeys(("memory", "pids", "cpu"), (2, path))


def test_a_root_service_is_ours_only_if_systemd_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = recorded("v2-root-service", tmp_path)
    group = host.group("system.slice/runner.service")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert {name for name, _ in host.survey().missing} == {"memory", "pids", "cpu"}
    # systemd marks what it delegates with this attribute (systemd's CGROUP_DELEGATION).
    os.setxattr(group, "user.delegate", b"1")
    assert host.survey().missing == ()
    os.setxattr(group, "user.delegate", b"0")
    assert host.survey().missing != ()


def test_a_group_that_passes_its_controllers_on_was_divided_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = recorded("v2-root-service", tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    group = host.group("system.slice/runner.service", passed="cpu memory pids\n")
    assert host.survey().missing == ()
    (group / "cgroup.subtree_control").write_text("memory\n")
    assert host.survey().missing != ()


def test_the_leaf_of_a_divided_group_stands_for_that_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # What a second keeper of the same caller sees: the first has moved the caller.
    host = recorded("v2-callers", tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    group = host.group("system.slice/run-r9c2e.scope", passed="cpu memory pids\n")
    host.group("system.slice/run-r9c2e.scope/casemate-callers", controllers="cpu memory pids\n")
    survey = host.survey()
    assert survey.missing == ()
    assert own(survey.hierarchies, tmp_path) == dict.fromkeys(
        ("memory", "pids", "cpu"), (2, "system.slice/run-r9c2e.scope")
    )
    # The name alone gives nothing.
    (group / "cgroup.subtree_control").write_text("")
    assert {name for name, _ in host.survey().missing} == {"memory", "pids", "cpu"}


def test_a_controller_that_is_not_offered_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = recorded("v2-delegated-scope", tmp_path)
    # Without cpu: what systemd gives users by default (systemd.resource-control(5), Delegate=).
    group = host.group(
        "user.slice/user-1000.slice/user@1000.service/app.slice/run-r8f1c.scope", controllers="memory pids\n"
    )
    if os.geteuid() == 0:
        os.chown(group, 1000, -1)
    monkeypatch.setattr(os, "geteuid", lambda: group.stat().st_uid)
    assert [name for name, _ in host.survey().missing] == ["cpu"]


def test_a_containers_root_is_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = recorded("v2-container", tmp_path)
    host.group(".")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    survey = host.survey()
    assert survey.missing == ()
    assert own(survey.hierarchies, tmp_path)["pids"] == (2, ".")


def test_a_containers_subtree_is_found_below_its_mount(tmp_path: Path) -> None:
    host = recorded("v2-container-host-namespace", tmp_path)
    host.group("init")
    assert own(host.parse(), tmp_path)["memory"] == (2, "init")


@pytest.mark.parametrize("writable", ["sys", "chroot/sys"])
def test_a_tree_that_is_mounted_twice_is_one(writable: str, tmp_path: Path) -> None:
    lines = "".join(f"33 24 0:27 / {tmp_path}/{name} rw - cgroup2 cgroup2 rw\n" for name in ("sys", "chroot/sys"))
    for name in ("sys", "chroot/sys"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "cgroup.controllers").write_text(V2)
    (tmp_path / writable / "cgroup.procs").touch()
    survey = hierarchies.survey(lines, "0::/")
    assert survey.missing == ()
    assert own(survey.hierarchies, tmp_path) == dict.fromkeys(("memory", "pids", "cpu"), (2, writable))


def test_a_group_outside_the_mount_is_not_found(tmp_path: Path) -> None:
    root = tmp_path / "mounted"
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "cgroup.controllers").write_text(V2)
    (tmp_path / "other" / "cgroup.procs").touch()
    host = recorded("v2-outside", root)
    assert host.parse() == ()
    assert len(host.survey().missing) == 3


def test_no_cgroups_at_all(tmp_path: Path) -> None:
    host = recorded("none", tmp_path)
    assert host.parse() == ()
    survey = host.survey()
    assert survey.hierarchies == ()
    assert [name for name, _ in survey.missing] == ["memory", "pids", "cpu"]
    assert all("remedy" in reason for _, reason in survey.missing)
    assert cgroups.keeper_group(survey, "casemate-x") is None


def test_a_survey_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = recorded("v2-container", tmp_path)
    host.group(".")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    before = {path: path.read_text() for path in tmp_path.iterdir()}
    host.survey()
    assert {path: path.read_text() for path in tmp_path.iterdir()} == before
