"""What a runtime cannot give is refused where a profile requires it, and degraded where the profile permits that."""

from __future__ import annotations

from typing import get_args

import pytest
from policy.written import edited, load, text_of

from casemate.errors import PolicyError
from casemate.policy import HostFacts, Profile, decide, runtimes
from casemate.policy.rows import Isolation

LAYERS = ("user-namespaces", "seccomp", "landlock", "cgroup-memory", "cgroup-pids", "cgroup-cpu")


def under(runtime: str, base: str = "cad") -> Profile:
    return load(edited("isolation.runtime", runtime, text_of(base)))


def host(*there: str, **reasons: str) -> HostFacts:
    """A host that gives every layer, has these runtimes, and lacks others for a reason."""
    found = tuple((f"runtime-{name}", "") for name in there)
    return HostFacts((*((layer, "") for layer in LAYERS), *found, *((f"runtime-{n}", w) for n, w in reasons.items())))


def test_every_runtime_that_a_profile_can_name_has_a_table() -> None:
    named = get_args(Isolation.model_fields["runtime"].annotation)
    assert set(runtimes.LACKS) == set(named)


@pytest.mark.parametrize("runtime", ["crun", "runc"])
def test_one_that_is_there_and_lacks_nothing_is_used(runtime: str) -> None:
    plan = decide(under(runtime), host(runtime))
    assert plan.profile.isolation.runtime == runtime
    assert (plan.cgroups, plan.landlock, plan.degraded) == (True, True, ())


@pytest.mark.parametrize("base", ["cad", "cad-rlimit"])
def test_one_that_is_not_there_is_a_refusal_with_its_remedy(base: str) -> None:
    with pytest.raises(PolicyError, match=r"isolation\.runtime = 'crun': gone; remedy: bring it"):
        decide(under("crun", base), host("runc", crun="gone; remedy: bring it"))


def test_one_that_nobody_looked_for_is_not_there() -> None:
    with pytest.raises(PolicyError, match=r"isolation\.runtime = 'crun': not probed"):
        decide(under("crun"), host())


@pytest.mark.parametrize("runtime", ["runsc", "kata"])
@pytest.mark.parametrize("base", ["cad", "cad-rlimit"])
def test_no_profile_does_without_what_the_keeper_needs(runtime: str, base: str) -> None:
    with pytest.raises(PolicyError, match=f"host-processes: {runtime} cannot give it"):
        decide(under(runtime, base), host(runtime))


def test_what_is_required_and_lacking_is_told_by_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(runtimes.LACKS, "runc", (runtimes.Lack("cgroup-cpu", "it has no clock"),))  # type: ignore[arg-type]
    with pytest.raises(PolicyError, match="cgroup-cpu: runc cannot give it: it has no clock"):
        decide(under("runc"), host("runc"))


def test_what_may_be_missing_and_lacks_is_degraded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(runtimes.LACKS, "runc", (runtimes.Lack("landlock", "it has none"),))  # type: ignore[arg-type]
    plan = decide(under("runc"), host("runc"))
    assert (plan.landlock, plan.degraded) == (False, ("landlock",))
    native = decide(under("native"), host("runc"))
    assert (native.landlock, native.degraded) == (True, ())


def test_what_is_lacking_is_a_layer_or_always_needed() -> None:
    for lacks in runtimes.LACKS.values():
        assert {lack.layer for lack in lacks} <= {*LAYERS, "host-processes"}
        assert all(lack.why for lack in lacks)
