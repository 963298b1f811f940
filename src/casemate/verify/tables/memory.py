"""Memory by every road: what a process maps, and what only the cgroup sees."""

from __future__ import annotations

from casemate.verify.model import Probe
from casemate.verify.tables.rows import MEMORY, slug

MINIMUM = 16
_LIMIT = 64 << 20
_ROADS = {
    "heap": "keeps bytes", "anonymous": "maps anonymous memory", "shared": "maps shared memory",
    "children": "has children that keep bytes", "copies": "forks copies of its memory and writes to them",
    "threads": "keeps bytes in threads", "files": "writes files", "deleted": "writes files that are deleted",
    "mapped_file": "maps a file of its own and writes to it", "strings": "keeps long strings",
    "lists": "keeps a long list",
    "image_copies": "maps a file of the image privately and writes to it", "grown": "grows one mapping",
    "fallocate": "allocates a file", "fixed": "maps at addresses of its choice", "pipes": "fills pipes",
    "shared_directory": "writes to /dev/shm", "pairs": "fills socket pairs",
    "page_tables": "touches one page in each two MiB",
}  # fmt: skip
_NEEDS = {
    **dict.fromkeys(("children", "copies", "threads", "page_tables"), ("clone",)),
    **dict.fromkeys(("files", "deleted", "mapped_file", "shared_directory"), ("/tmp",)),
    "image_copies": ("fcntl",),
    "fallocate": ("fallocate", "/tmp"), "pipes": ("pipe2",), "pairs": ("socketpair", "clone"), "grown": ("mremap",),
}  # fmt: skip
_CLOSED = {
    "memory_file": ("writes to a memory file", "seccomp"), "system_v": ("takes System V shared memory", "seccomp"),
    "locked": ("locks memory", "memlock"),
    "raised": ("raises its own limits", "rlimits"),
}  # fmt: skip

PROBES: tuple[Probe, ...] = (
    *(
        Probe(
            f"memory.{slug(name)}", f"{what} past the limit", MEMORY, f"{name}()", "memory", "outcome", "memory",
            expect=f"limit memory; memory {_LIMIT}", limits=(("memory", _LIMIT), ("processes", 24)),
            declared=("limits.memory",), needs=_NEEDS.get(name, ()),
        )
        for name, what in _ROADS.items()
    ),
    *(
        Probe(
            f"memory.{slug(name)}", what, MEMORY, f"{name}()", twin, "outcome", "memory",
            expect="exited; refused EPERM,ENOENT,EACCES,ValueError", limits=(("memory", _LIMIT),),
        )
        for name, (what, twin) in _CLOSED.items()
    ),
)  # fmt: skip
