"""What /proc tells of the kernel, of the host and of other processes, and what can be written there."""

from __future__ import annotations

from casemate.verify.model import Probe

MINIMUM = 2

_KERNEL = {
    "kallsyms": ("kernel symbols", "/proc/kallsyms"),
    "boot_id": ("the boot id, which names the host", "/proc/sys/kernel/random/boot_id"),
}
PROBES = tuple(
    Probe(f"proc.{name}", f"reads {what}", "kernel surface", f"read({path!r})", "proc-options", "host", "proc", path)
    for name, (what, path) in _KERNEL.items()
)
