"""Disk by small files, by one large file, and by what is not a file."""

from __future__ import annotations

from casemate.verify.model import Probe
from casemate.verify.tables.rows import DISK, slug

MINIMUM = 14
_LIMITS = (
    ("disk_bytes", 32 << 20), ("file_size", 16 << 20), ("inodes", 256), ("artifact_bytes", 1 << 20),
    ("artifact_total_bytes", 1 << 20),
)  # fmt: skip
_PEAK = 52 << 20
"""What the bytes on the tmpfs may have cost at most, with what the guest itself has."""
# Name → what, the refusal, and the limit that is still met at the end, as the keeper sees it.
_FILLS = {
    "small_files": ("small files", "ENOSPC", "disk_bytes"), "two_directories": ("files in two places", "ENOSPC",
    "disk_bytes"),
    "deleted": ("files that are deleted while open", "ENOSPC", ""), "appended": ("one file, appended", "EFBIG", ""),
    "one_large": ("one large file", "EFBIG", ""), "sparse": ("a sparse file of a terabyte", "EFBIG", ""),
    "exabyte": ("a sparse file of an exabyte", "EFBIG", ""), "allocated": ("allocated space", "ENOSPC", ""),
    "copied": ("copies made by the kernel", "ENOSPC", "disk_bytes"), "far_end": ("a byte at a far end", "EFBIG", ""),
    "many_files": ("empty files", "ENOSPC", "inodes"), "many_directories": ("directories", "ENOSPC", "inodes"),
    "many_deep": ("directories in each other", "ENOSPC", "inodes"),
    "many_long_names": ("files with long names", "ENOSPC", "inodes"),
    "many_of_both": ("files and directories", "ENOSPC", "inodes"),
}  # fmt: skip
_NEEDS = {"allocated": ("fallocate", "/tmp"), "copied": ("sendfile", "/tmp")}

PROBES: tuple[Probe, ...] = (
    Probe(
        "disk.open-files", "opens files without end", DISK, "open_files()", "open-files", "outcome", "disk",
        expect="exited; refused EMFILE", limits=(("open_files", 32),),
    ),
    *(
        Probe(
            f"disk.{slug(name)}", f"fills the disk with {what}", DISK, f"{name}()", "disk", "outcome", "disk",
            expect=f"exited; refused {refusal}; memory {_PEAK}" + (f"; counter {counter}" if counter else ""),
            limits=_LIMITS, needs=_NEEDS.get(name, ("/tmp",)),
        )
        for name, (what, refusal, counter) in _FILLS.items()
    ),
)  # fmt: skip
