"""Both walls as one ordered table: what each step does, where it belongs, and how its effect is read back.

`take(place, site)` runs the steps of one place in the table's order. A step applies itself and then reads its effect
back from the kernel; a step that cannot see its effect raises, and the process that builds the wall dies before
anything untrusted is near. What was read back becomes the `enforcement` of every result.

Four places, two walls:

    room   (outer wall)  the process that becomes a room's first; where an OCI runtime makes the wall, see `behind`
    init   (inner wall)  the process that becomes a sandbox's init
    exec   (inner wall)  the first process of one execution: it reaps, and holds the pid namespace
    guest  (inner wall)  the fork of the template that will run the untrusted code

The order inside a place is the kernel's, tried on Linux 6.18: the cgroup before the uid (a descriptor opened by the
keeper still counts as the keeper's, cgroups(7)); dumpable after the uid (else the map files belong to nobody we are);
the user namespace before its limits (RLIMIT_NPROC is counted per user namespace, setrlimit(2)); mounts before the
cgroup namespace; capabilities before no_new_privs; Landlock before seccomp (its calls are not in any filter)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from . import enclose, lockdown, spec
from .site import Place, Site, StepFailed, namespaces


@dataclass(frozen=True)
class Step:
    """One row of the table."""

    name: str
    places: frozenset[Place]
    what: str
    apply: Callable[[Site], None]
    verify: Callable[[Site], str]

    def describe(self) -> str:
        """One line for people."""
        return f"{self.name} ({', '.join(sorted(self.places))}): {self.what}"


def _step(name: str, places: str, what: str, apply: Callable[[Site], None], verify: Callable[[Site], str]) -> Step:
    return Step(name, frozenset(Place(place) for place in places.split()), what, apply, verify)


STEPS: tuple[Step, ...] = (
    _step(
        "session",
        "room init exec guest",
        "own session, umask, signals at their defaults",
        lockdown.session,
        lockdown.see_session,
    ),
    _step(
        "cgroup", "room init guest", "join the cgroups that the keeper made", enclose.join_cgroups, enclose.see_cgroups
    ),
    _step("identity", "room init", "take the sandbox's own uid and gid, no groups", enclose.become, enclose.see_become),
    _step(
        "user",
        "room init",
        "a user namespace with the smallest maps",
        enclose.enter_user_namespace,
        enclose.see_user_namespace,
    ),
    _step("rlimits", "room init", "no core files", lockdown.limit, lockdown.see_limits),
    _step("namespaces", "room init exec", "fresh namespaces", enclose.enter_namespaces, enclose.see_namespaces),
    _step("pid", "room init exec", "first process of a pid namespace", lambda _: None, enclose.see_first),
    _step(
        "mounts", "room init exec", "read-only image, one bounded tmpfs, own /proc", enclose.mount, enclose.see_mount
    ),
    _step("cgroupns", "room init", "a cgroup namespace", enclose.enter_cgroup_namespace, enclose.see_cgroup_namespace),
    _step("hostname", "room init", "a host name that tells nothing", enclose.name, enclose.see_name),
    _step(
        "loopback",
        "room init",
        "the loopback up or down, no other interface up",
        enclose.set_loopback,
        enclose.see_loopback,
    ),
    _step("walls", "guest", "join the namespaces of the execution", enclose.join_walls, enclose.see_walls),
    _step("limits", "guest", "rlimits on oneself, soft and hard", lockdown.limit, lockdown.see_limits),
    _step(
        "descriptors",
        "guest",
        "close all but stdin, stdout, stderr, report and set-up",
        lockdown.descriptors,
        lockdown.see_descriptors,
    ),
    _step("uid", "guest", "the guest's own uid", lockdown.guest_identity, lockdown.see_guest_identity),
    _step(
        "undumpable",
        "init exec",
        "memory and /proc entries closed to others",
        lockdown.undumpable,
        lockdown.see_undumpable,
    ),
    _step(
        "capabilities",
        "exec guest",
        "no capability in any set, securebits locked",
        lockdown.capabilities,
        lockdown.see_capabilities,
    ),
    _step(
        "no_new_privs", "init exec guest", "no privilege by execve", lockdown.no_new_privs, lockdown.see_no_new_privs
    ),
    _step("landlock", "guest", "files, TCP and scopes by Landlock", lockdown.landlock, lockdown.see_landlock),
    _step("environment", "guest", "the profile's environment", lockdown.environment, lockdown.see_environment),
    _step("seccomp", "guest", "an allowlist of system calls", lockdown.seccomp, lockdown.see_seccomp),
)


def take(
    place: Place, site: Site, upto: str = "", after: str = "", made: Mapping[str, str] = MappingProxyType({}),
    elsewhere: frozenset[str] = frozenset(),
) -> tuple[spec.Layer, ...]:  # fmt: skip
    """Take the steps of `place` in order, from the one behind `after` to `upto`; raises StepFailed naming the step.

    `made` are steps that somebody else has applied, with who: their effect is read back here all the same. Those of
    `elsewhere` are neither taken nor read back here.
    """
    if not site.before:
        site.before = namespaces()
    layers = []
    steps = [step for step in STEPS if place in step.places and step.name not in elsewhere]
    names = [step.name for step in steps]
    first = names.index(after) + 1 if after else 0
    last = names.index(upto) + 1 if upto else len(steps)
    for step in steps[first:last]:
        try:
            if step.name not in made:
                step.apply(site)
            seen = step.verify(site)
        except (StepFailed, OSError, ValueError) as error:
            raise StepFailed(f"{place}: {step.name}: {error}") from None
        detail = f"{seen}, by {made[step.name]}" if seen and step.name in made else seen
        layers.append(spec.Layer(f"{place}.{step.name}", bool(seen), detail))
    return tuple(layers)
