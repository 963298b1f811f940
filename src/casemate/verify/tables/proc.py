"""What /proc tells of the kernel, of the host and of other processes, and what can be written there."""

from __future__ import annotations

from casemate.verify.model import VM, Probe
from casemate.verify.tables.rows import CONTROL, KERNEL, METADATA, PROCESSES, each, slug

MINIMUM = 60
BATCH = "proc"

_HOST = ("cmdline", "partitions", "diskstats", "cgroups", "swaps", "devices")
_KERNEL = (
    "kallsyms", "consoles", "interrupts", "softirqs", "iomem", "ioports", "crypto", "locks", "keys",
    "key-users", "misc", "zoneinfo", "execdomains", "tty/drivers", "fs", "irq", "bus", "sysvipc/shm",
)  # fmt: skip
# What a masked view shows, since shell tools and the C library read it.
_SHOWN = (
    "version", "cpuinfo", "meminfo", "stat", "uptime", "loadavg", "vmstat", "filesystems", "sys/kernel/hostname",
    "sys/kernel/random/boot_id", "sys/kernel/osrelease", "sys/kernel/core_pattern", "sys/kernel/randomize_va_space",
    "sys/vm/overcommit_memory", "sys/fs/file-nr",
)  # fmt: skip
_SYSCTLS = (
    "sys/kernel/core_pattern", "sys/kernel/modprobe", "sys/kernel/hotplug", "sys/kernel/sysrq", "sys/vm/drop_caches",
    "sys/vm/overcommit_memory", "sys/kernel/panic", "sys/fs/binfmt_misc/register", "sysrq-trigger",
)  # fmt: skip
_OPEN_TO_ALL = ("cmdline", "status", "stat", "comm", "limits", "cgroup", "mountinfo", "oom_score")
_TRACING = ("environ", "maps", "mem", "root", "cwd", "exe", "fd", "ns/pid", "auxv", "syscall")
_OWN = (
    "oom_score_adj", "comm", "coredump_filter", "clear_refs", "timerslack_ns", "setgroups", "uid_map", "gid_map",
    "projid_map", "mem",
)  # fmt: skip


def _paths(names: tuple[str, ...]) -> dict[str, str]:
    return {slug(name): f"/proc/{name}" for name in names}


UNSCOPED = frozenset({"proc.signal-above"})
"""Held for a user by Landlock's scopes alone: what is above the guest in its pid namespace has the same uid."""

PROBES: tuple[Probe, ...] = (
    *each(
        "proc", _paths(_HOST), what="reads {}, which tells of the host", row=METADATA, code="look_at('{}')",
        twin="proc-options", witness="host", batch=BATCH, trace="{}",
    ),
    *each(
        "proc", _paths(_KERNEL), what="reads {}, which tells of the kernel", row=KERNEL, code="look_at('{}')",
        twin="proc-options", witness="host", batch=BATCH, trace="{}",
    ),
    *each(
        "proc", _paths(_SHOWN), what="reads {}, which tells of the host", row=METADATA, code="look_at('{}')",
        twin="proc-options", witness="host", batch=BATCH, trace="{}", unless="masked",
    ),
    *each(
        "proc", {f"write-{name}": path for name, path in _paths(_SYSCTLS).items()},
        what="opens {} to write", row=KERNEL, code="writable('{}')", twin=VM, witness="look", batch=BATCH,
        trace="proc ro",
    ),
    *each(
        "proc", {f"first-{slug(name)}": f"/proc/1/{name}" for name in _OPEN_TO_ALL},
        what="reads {} of the process above it", row=CONTROL, code="look_at('{}')", twin="proc-options",
        witness="look", batch=BATCH, trace="proc hidepid=invisible",
    ),
    *each(
        "proc", {f"first-{slug(name)}": f"/proc/1/{name}" for name in _TRACING},
        what="opens {} of the process above it", row=CONTROL, code="opened('{}')", twin="proc-tracing",
        witness="look", batch=BATCH, trace="proc hidepid=invisible",
    ),
    *each(
        "proc", {f"own-{slug(name)}": f"/proc/self/{name}" for name in _OWN},
        what="opens its own {} to write", row=KERNEL, code="writable('{}')", twin="proc-writable",
        witness="look", batch=BATCH, trace="proc ro",
    ),
    Probe(
        "proc.others", "lists processes that are not its own", PROCESSES, "other_processes()", "proc-options", "look",
        BATCH, "proc hidepid=invisible",
    ),
    Probe(
        "proc.signal-above", "signals the processes above it", CONTROL, "signalled_above()", "proc-tracing", "look",
        BATCH, "proc hidepid=invisible",
    ),
    Probe(
        "proc.cgroup-path", "reads where its cgroup is on the host", METADATA, "cgroup_path()", "cgroup-namespace",
        "look", BATCH, "ns cgroup",
    ),
)  # fmt: skip
