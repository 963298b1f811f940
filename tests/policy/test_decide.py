"""A host may run under a profile only if it gives every required layer; what is missing is said, with the remedy."""

from __future__ import annotations

import pytest
from policy.written import load, text_of

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


@pytest.mark.parametrize("name", ["python", "strict"])
def test_plain_programs_need_the_controllers(name: str) -> None:
    assert decide(profile(name), host()).cgroups
    with pytest.raises(PolicyError, match="cgroup-memory"):
        decide(profile(name), host("cgroup-memory", "cgroup-pids", "cgroup-cpu"))


def test_python_rlimit_runs_without_them() -> None:
    plan = decide(profile("python-rlimit"), host("cgroup-memory", "cgroup-pids", "cgroup-cpu"))
    assert not plan.cgroups
    assert {text.partition(":")[0] for text in plan.profile.layers.not_held} == {
        "limits.memory", "limits.cpu_time", "limits.cpus",
    }  # fmt: skip


def test_strict_needs_landlock_and_python_does_not() -> None:
    assert decide(profile("python"), host("landlock")).degraded == ("landlock",)
    with pytest.raises(PolicyError, match="landlock"):
        decide(profile("strict"), host("landlock"))
