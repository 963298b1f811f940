"""What an outer wall made by another runtime cannot give, as data: a row for each layer that it lacks.

A profile that requires the layer is refused under that runtime; one that permits it to be missing runs without it, and
every result says so. crun and runc make a room on this host's own kernel, and lack nothing of what a profile can name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

HOST_PROCESSES = "host-processes"
"""What a sandbox runs are processes of this host: the keeper is handed descriptors of them, looks at them from outside,
puts each into a cgroup of its own, and kills them itself. No profile can do without it, and so none names it."""
ALWAYS = frozenset({"user-namespaces", "seccomp", HOST_PROCESSES})


@dataclass(frozen=True, slots=True)
class Lack:
    """A layer that a runtime cannot give, and why."""

    layer: str
    why: str


def _own_kernel(what: str) -> tuple[Lack, ...]:
    groups = tuple(
        Lack(f"cgroup-{controller}", f"a cgroup of the host can hold {what} as a whole, no sandbox in it")
        for controller in ("memory", "pids", "cpu")
    )
    return (
        Lack(HOST_PROCESSES, f"what runs in {what} is no process of the host, and no descriptor crosses its boundary"),
        *groups,
    )


LACKS: Mapping[str, tuple[Lack, ...]] = {
    "native": (),
    "crun": (),
    "runc": (),
    "runsc": (*_own_kernel("gVisor"), Lack("landlock", "gVisor's kernel has none")),
    "kata": _own_kernel("a virtual machine"),
}
"""By the words of `isolation.runtime`."""


def layer(runtime: str) -> str:
    """What the facts of a host call the runtime itself."""
    return f"runtime-{runtime}"
