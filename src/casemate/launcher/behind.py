"""The first process of a room whose wall an OCI runtime has made, until it becomes the zygote.

    runtime ──execve──► this ──Warm("room")──► keeper looks from outside ──Room──► zygote (execve, empty environment)

It takes the same steps as a room of ours, but those that the runtime has made it only reads back: a runtime that left
one out, or started this with no wall at all, is found here, before a template exists. Two things a bundle cannot say
and are done here: every signal at its default, and the second tree, which sandboxes take (`mounts.prepare`). Cgroup
and uid are read back by the keeper, from outside (`outside.examine_room`).
"""

from __future__ import annotations

import os

from . import bundle, lockdown, mount_table, mounts, room, spec, steps
from .site import Place, Site, StepFailed, status

STDERR = 4
"""The descriptor that becomes standard error: that of whoever runs the host."""


def main() -> int:
    """Look at the wall, tell the keeper, become the zygote; anything wrong is told as a Fault."""
    channel = spec.adopt(room.CONTROL)
    try:
        received = channel.receive()
        message = received[0] if received else None
        if not isinstance(message, spec.Enclosed):
            raise spec.WireError("a room's first process is told what to find")
        channel.send(spec.Warm("room", _layers(message)))
        os.dup2(STDERR, 2)
        room.become_zygote(channel.fileno())
    except BaseException as error:
        channel.send(spec.Fault("room", f"{error}"[:4000]))
    return 70


def _layers(message: spec.Enclosed) -> tuple[spec.Layer, ...]:
    site = Site(
        namespaces=room.NAMESPACES, tree=lambda: mounts.prepare("/"), hostname="room", loopback=True,
        before=dict(message.outside), verify_tree=lambda: mount_table.verify(mount_table.room()),
    )  # fmt: skip
    os.chdir("/")
    made = dict.fromkeys(bundle.MADE, message.runtime)
    layers = steps.take(Place.ROOM, site, made=made, elsewhere=bundle.FROM_OUTSIDE)
    try:
        beside = (
            spec.Layer("room.capabilities", True, f"{_see_capabilities()}, by {message.runtime}"),
            spec.Layer("room.no_new_privs", True, f"{lockdown.see_no_new_privs(site)}, by {message.runtime}"),
            spec.Layer("room.seccomp", True, f"{_see_seccomp()}, by {message.runtime}"),
        )
    except (StepFailed, OSError) as error:
        raise StepFailed(f"room: {error}") from None
    return (*layers, *beside)


def _see_capabilities() -> str:
    seen, most = status(), bundle.capability_mask()
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        if int(seen[name], 16) & ~most:
            raise StepFailed(f"capabilities: {name} is {seen[name]}")
    return f"at most {', '.join(sorted(bundle.CAPABILITIES))}"


def _see_seccomp() -> str:
    seen = status()
    if seen["Seccomp"] != "2":
        raise StepFailed(f"seccomp: mode is {seen['Seccomp']}")
    # A filter that allows everything is in mode 2 as well: try what the room's does not, and anybody may.
    try:
        os.sched_rr_get_interval(0)
    except PermissionError:
        return f"{seen.get('Seccomp_filters', '?')} filter"
    raise StepFailed("seccomp: the filter lets sched_rr_get_interval through")
