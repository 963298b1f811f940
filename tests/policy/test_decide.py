"""A host may run under a profile only if it gives every required layer; what is missing is said, with the remedy."""

from __future__ import annotations

from typing import Any

import pytest
from policy.written import edited, load, text_of

from casemate.errors import PolicyError
from casemate.policy import HostFacts, Profile, decide

LAYERS = ("user-namespaces", "seccomp", "landlock", "cgroup-memory", "cgroup-pids", "cgroup-cpu")
CGROUPS = LAYERS[3:]


def profile(name: str) -> Profile:
    return load(text_of(name))


def host(*missing: str, why: str = "no; remedy: sysctl -w x=1") -> HostFacts:
    return HostFacts(tuple((layer, why if layer in missing else "") for layer in LAYERS))


@pytest.mark.parametrize("name", ["cad", "cad-minimal", "cad-rlimit"])
def test_a_host_with_everything_runs_everything(name: str) -> None:
    plan = decide(profile(name), host())
    assert plan.profile == profile(name)
    assert (plan.cgroups, plan.landlock, plan.degraded) == (True, True, ())


@pytest.mark.parametrize("layer", ["user-namespaces", "seccomp", *CGROUPS])
def test_a_missing_required_layer_refuses_with_its_remedy(layer: str) -> None:
    with pytest.raises(PolicyError) as caught:
        decide(profile("cad"), host(layer))
    told = str(caught.value)
    assert "'cad'" in told
    assert f"{layer}: no; remedy: sysctl -w x=1" in told


def test_every_missing_layer_is_told() -> None:
    with pytest.raises(PolicyError) as caught:
        decide(profile("cad"), host(*LAYERS))
    assert all(layer in str(caught.value) for layer in LAYERS if layer != "landlock")


def test_a_layer_that_may_be_missing_is_listed() -> None:
    plan = decide(profile("cad"), host("landlock"))
    assert (plan.cgroups, plan.landlock, plan.degraded) == (True, False, ("landlock",))


def test_without_cgroups_only_the_profile_that_says_so_runs() -> None:
    with pytest.raises(PolicyError):
        decide(profile("cad"), host(*CGROUPS))
    plan = decide(profile("cad-rlimit"), host(*CGROUPS))
    assert (plan.cgroups, plan.degraded) == (False, CGROUPS)


@pytest.mark.parametrize("layer", CGROUPS)
def test_two_controllers_of_three_are_none(layer: str) -> None:
    plan = decide(profile("cad-rlimit"), host(layer))
    assert not plan.cgroups
    assert layer in plan.degraded


@pytest.mark.parametrize("layer", ["user-namespaces", "seccomp"])
def test_no_profile_runs_without_the_walls(layer: str) -> None:
    with pytest.raises(PolicyError, match=layer):
        decide(profile("cad-rlimit"), host(layer))


@pytest.mark.parametrize("name", ["cad", "cad-rlimit"])
def test_a_layer_that_nobody_probed_is_missing(name: str) -> None:
    with pytest.raises(PolicyError, match="not probed"):
        decide(profile(name), HostFacts(()))
    known = HostFacts(tuple((layer, "") for layer in LAYERS if layer != "landlock"))
    plan = decide(profile(name), known)
    assert plan.degraded == ("landlock",)
    assert not plan.landlock


NOT_YET = {
    "python": {
        "limits.sockets", "filesystem.image", "filesystem.exec_writable", "network.loopback", "environment.variables",
        "devices.pty", "proc.view", "gate.rules", "artifacts.inspection",
    },
    "strict": {
        "limits.processes", "filesystem.image", "filesystem.writable", "gate.rules",
        "artifacts.inspection",
    },
}  # fmt: skip


@pytest.mark.parametrize("name", ["python", "python-rlimit", "strict"])
def test_nothing_runs_under_a_profile_ahead_of_its_time(name: str) -> None:
    with pytest.raises(PolicyError) as caught:
        decide(profile(name), host())
    text = text_of(name).split("\n")
    assert {fault.row for fault in caught.value.faults} == NOT_YET[name.removesuffix("-rlimit")]
    for fault in caught.value.faults:
        assert text[fault.line - 1].startswith(f"{fault.row.partition('.')[2]} = ")
        assert f"mine.toml:{fault.line}: {fault.row}: " in str(caught.value)
        assert "is not enforceable by this version yet" in fault.message


@pytest.mark.parametrize(
    ("rows", "needs"),
    [
        ({"filesystem.exec_writable": True}, {"kernel.syscalls": "python"}),
        ({"devices.pty": True}, {}), ({"proc.view": "masked"}, {}), ({"environment.variables": ["A=b"]}, {}),
        ({"limits.sockets": 1}, {}), ({"network.loopback": "up"}, {"limits.sockets": 1}), ({"limits.processes": 1}, {}),
        ({"filesystem.writable": []}, {}), ({"filesystem.image": "python"}, {}),
    ],
)  # fmt: skip
def test_a_cad_profile_with_one_such_row_is_refused_too(rows: dict[str, Any], needs: dict[str, Any]) -> None:
    text = text_of("cad")
    for row, value in (rows | needs).items():
        text = edited(row, value, text)
    with pytest.raises(PolicyError) as caught:
        decide(load(text), host())
    assert {fault.row for fault in caught.value.faults} == set(rows | needs) - {"kernel.syscalls"}  # that set is there


def test_twin_what_this_version_enforces_is_decided() -> None:
    assert decide(load(edited("limits.processes", 2)), host()).profile.limits.processes == 2
