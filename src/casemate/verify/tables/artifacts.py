"""What must not be taken out of a stopped sandbox, though a report names it."""

from __future__ import annotations

from casemate.verify.model import Probe
from casemate.verify.tables.rows import ARTIFACTS, slug

MINIMUM = 9
_MIB = 1 << 20
_LIMITS = (
    ("artifact_bytes", _MIB + _MIB // 2), ("artifact_total_bytes", _MIB + _MIB // 2), ("artifact_count", 3),
    ("file_size", 4 * _MIB),
)  # fmt: skip
# Name → what is left there, the calls that making it needs, what must have been seen.
_ODD = {
    "link": ("a link to a file of the host's", ("symlink",), "Too many levels|link"),
    "link_to_environment": ("a link to the collector's own environment", ("symlink",), "Too many levels|link"),
    "link_above": ("a directory that is a link", ("symlink",), "Too many levels|link"),
    "second_name": ("a file that has a second name", ("link",), "has 2 names"),
    "fifo": ("a named pipe", ("mknodat",), "not a regular file"),
}  # fmt: skip
_OVER = {
    "too_large": ("a file above its bound, without a block", "artifact_bytes"),
    "too_large_together": ("files above their bound together", "artifact_total_bytes"),
    "too_many": ("more files than their bound", "artifact_count"),
}  # fmt: skip

PROBES: tuple[Probe, ...] = (
    *(
        Probe(
            f"artifacts.{slug(name)}", f"leaves {what}", ARTIFACTS, f"{name}()", "collector", "outcome", "artifacts",
            expect=f"exited; untaken {texts}", limits=_LIMITS, needs=("/tmp", *needs),
        )
        for name, (what, needs, texts) in _ODD.items()
    ),
    *(
        Probe(
            f"artifacts.{slug(name)}", f"leaves {what}", ARTIFACTS, f"{name}()", "collector", "outcome", "artifacts",
            expect=f"limit {limit}", limits=_LIMITS, needs=("/tmp",),
        )
        for name, (what, limit) in _OVER.items()
    ),
    Probe(
        "artifacts.named-outside", "names a file of the host's as its own", ARTIFACTS, "named_outside()", "collector",
        "outcome", "artifacts", expect="exited; untaken should match pattern", limits=_LIMITS, unless="tree",
    ),
)  # fmt: skip
