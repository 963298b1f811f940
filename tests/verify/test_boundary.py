"""The table is drawn from what steps read back: take one away, and its rows change."""

from __future__ import annotations

import pytest

from casemate.control.profiles import load_profile
from casemate.launcher.steps import STEPS
from casemate.model import Enforcement, Layer
from casemate.verify.boundary import DEGRADED, ENFORCED, MISSING, State, states

PROFILE = load_profile("cad")
PROPERTIES = {
    "host files", "other tenants' files", "credentials", "platform metadata", "control plane", "egress", "CPU",
    "memory",
    "disk", "processes", "time", "survival after the end", "reuse", "artifacts", "kernel surface", "identity",
}  # fmt: skip
_TAKEN = tuple(f"{place}.{step.name}" for step in STEPS for place in sorted(step.places))
_SECOND = tuple(f"inspect.{name}" for name in _TAKEN if not name.startswith("room."))
KEEPER = ("keeper.outside", "keeper.cgroup")
ALL = (*_TAKEN, "template.cad", *KEEPER, *_SECOND, *(f"inspect.{name}" for name in KEEPER))


def table(off: tuple[str, ...] = (), degraded: tuple[str, ...] = (), profile: str = "cad") -> dict[str, State]:
    layers = tuple(Layer(name, name not in off, "") for name in ALL)
    found = states(load_profile(profile), Enforcement("cad", "", "", layers, degraded))
    return {state.property: state for state in found}


def test_all_on_is_all_enforced() -> None:
    found = table()
    assert set(found) == PROPERTIES
    assert {state.state for state in found.values()} == {ENFORCED}
    assert all(state.mechanisms and state.not_covered for state in found.values())
    assert all(state.probes for state in found.values())
    held = [holding for state in found.values() for holding in state.mechanisms]
    assert all(holding.what and holding.where and holding.layers for holding in held)


@pytest.mark.parametrize("layer", ALL)
def test_each_layer_that_is_off_changes_a_row(layer: str) -> None:
    changed = {name: state for name, state in table((layer,)).items() if state.state != ENFORCED}
    assert changed, f"{layer} is off, and no property knows"
    for state in changed.values():
        assert state.state == MISSING
        assert state.missing() == (layer,)


@pytest.mark.parametrize("layer", [name for name in ALL if not name.startswith("inspect.")])
def test_a_layer_that_is_not_told_is_off(layer: str) -> None:
    layers = tuple(Layer(name, True, "") for name in ALL if name != layer)
    found = states(PROFILE, Enforcement("cad", "", "", layers))
    assert any(state.state == MISSING for state in found)


def test_what_the_profile_permits_to_be_missing_is_degraded() -> None:
    off = ("guest.landlock", "inspect.guest.landlock")
    assert table(off, ("landlock",))["egress"].state == DEGRADED
    assert table(off, ("landlock",))["artifacts"].state == DEGRADED
    assert table(off)["egress"].state == MISSING
    assert table((*off, "guest.seccomp"), ("landlock",))["egress"].state == MISSING


def test_without_controllers_the_profile_says_what_it_does_not_hold() -> None:
    off = tuple(name for name in ALL if name.endswith(".cgroup"))
    found = table(off, ("cgroup-memory", "cgroup-pids", "cgroup-cpu"), "cad-rlimit")
    assert {name for name, state in found.items() if state.state == DEGRADED} == {
        "CPU", "memory", "processes", "survival after the end", "artifacts",
    }  # fmt: skip
    assert found["memory"].not_held
    assert not found["disk"].not_held
    assert not any("which are here" in text for text in found["memory"].not_held)
    assert all("which are here" in text for text in table((), profile="cad-rlimit")["memory"].not_held)


def test_a_profile_without_a_second_sandbox_does_not_stand_on_one() -> None:
    off = tuple(name for name in ALL if name.startswith("inspect."))
    assert table(off, profile="cad-fast")["artifacts"].state == ENFORCED
    assert table(off, profile="cad-fast")["artifacts"].not_held
    assert table(off)["artifacts"].state == MISSING


def test_values_are_the_profiles_own() -> None:
    found = table()
    assert any(f"{PROFILE.limits.memory:,}" in text for text in (held.what for held in found["memory"].mechanisms))


def test_what_was_read_back_stands_in_the_row() -> None:
    layers = tuple(Layer(name, True, f"seen of {name}") for name in ALL)
    rows = states(PROFILE, Enforcement("cad", "", "", layers))
    told = {layer.detail for row in rows for holding in row.mechanisms for layer in holding.layers}
    assert told == {f"seen of {name}" for name in ALL}
