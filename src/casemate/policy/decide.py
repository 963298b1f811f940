"""Decides whether this host may run under a profile: yes with a plan, or a refusal that says what is missing."""

from __future__ import annotations

from dataclasses import dataclass

from casemate.errors import PolicyError
from casemate.policy import runtimes
from casemate.policy.profile import Profile


@dataclass(frozen=True, slots=True)
class HostFacts:
    """What was probed on this host: for each layer "" if it is there, else the reason and the remedy."""

    layers: tuple[tuple[str, str], ...]

    def missing(self, layer: str) -> str:
        """The reason why a layer is not there; a layer that nobody probed is not there."""
        return dict(self.layers).get(layer, "not probed on this host")


@dataclass(frozen=True, slots=True)
class Plan:
    """A yes: which layers will be on and which are degraded, as the profile permits by name."""

    profile: Profile
    cgroups: bool
    landlock: bool
    degraded: tuple[str, ...]


def decide(profile: Profile, facts: HostFacts) -> Plan:
    """The plan for a profile on a host.

    Raises PolicyError with each required layer that is missing and its remedy.
    """
    runtime = profile.isolation.runtime
    lacks = {lack.layer: f"{runtime} cannot give it: {lack.why}" for lack in runtimes.LACKS[runtime]}
    reasons: dict[str, list[str]] = {}
    if runtime != "native" and (why := facts.missing(runtimes.layer(runtime))):
        reasons[why] = [f"isolation.runtime = {runtime!r}"]
    for layer in (*sorted(runtimes.ALWAYS & lacks.keys()), *profile.layers.required):
        if why := lacks.get(layer) or facts.missing(layer):
            reasons.setdefault(why, []).append(layer)
    refusals = [f"{', '.join(layers)}: {why}" for why, layers in reasons.items()]
    if refusals:
        raise PolicyError(f"profile {profile.name!r} needs what this host does not give: " + "; ".join(refusals))
    degraded = tuple(layer for layer in profile.layers.permitted_degraded if layer in lacks or facts.missing(layer))
    cgroups = profile.needs_cgroups or not any(layer.startswith("cgroup-") for layer in degraded)
    return Plan(profile, cgroups, "landlock" not in lacks and not facts.missing("landlock"), degraded)
