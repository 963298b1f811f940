"""For each limit: what it bounds, who enforces it, and what the program and the caller see of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from casemate.errors import PolicyError

Kind = Literal["terminal", "refusing", "slowing", "choice"]
"""Ends the job; gives the program an errno; slows it down; says which of the first two another limit is."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """One limit. `without_cgroup` is what stands in under a profile that does without controllers (`*-rlimit`)."""

    bounds: str
    unit: str
    kind: Kind
    enforced_by: str
    program_sees: str
    counted: str
    without_cgroup: str
    source: str


_SAME = "the same: it needs no cgroup"
_GONE = "nothing: it is killed (SIGKILL)"
_CUT = 'nothing, it goes on and is cut; with output_overflow = "kill" it is killed (SIGKILL)'
_ERRNO_ONLY = "nowhere outside: the refusal is the program's own claim"

EXPLANATIONS: dict[str, Explanation] = {
    "wall_time": Explanation(
        "real time of the job, both sandboxes together, from when the template is warm", "seconds", "terminal",
        "the keeper's own clock (CLOCK_MONOTONIC); then SIGKILL by pidfd and cgroup", _GONE,
        "by the keeper: outcome.limit, usage.wall", _SAME, "clock_gettime(2), pidfd_send_signal(2)",
    ),
    "cpu_time": Explanation(
        "CPU time of all processes of one sandbox together", "seconds", "terminal",
        "the keeper, which reads the cgroup's counter (v2 cpu.stat, v1 cpuacct.usage); RLIMIT_CPU of each process",
        _GONE,
        "in the cgroup: outcome.limit, usage.cpu",
        "RLIMIT_CPU of each process; not of several together", "cgroups(7), getrlimit(2)",
    ),
    "cpus": Explanation(
        "cores that one sandbox may use at a time", "cores", "slowing",
        "the cgroup's CPU bandwidth (v2 cpu.max, v1 cpu.cfs_quota_us)", "that it runs more slowly",
        "in usage.cpu beside usage.wall", "nothing stands in", "cgroups(7); Linux: scheduler/sched-bwc",
    ),
    "memory": Explanation(
        "memory of all processes of one sandbox together, with tmpfs and pipes, without swap", "bytes", "terminal",
        "the cgroup (v2 memory.max, v1 memory.limit_in_bytes); the kernel's OOM killer", _GONE,
        "in the cgroup (v2 memory.events, v1 memory.oom_control): outcome.limit, usage.memory_peak",
        "address_space and data of each process; not of several together, nor what no process maps",
        "cgroups(7); Linux: admin-guide/cgroup-v2",
    ),
    "processes": Explanation(
        "processes and threads of one sandbox", "count", "refusing",
        "the cgroup (pids.max, two higher for init and exec); RLIMIT_NPROC, eight higher", "EAGAIN from fork and clone",
        "in the cgroup (pids.events): usage.refused, usage.processes_peak",
        "RLIMIT_NPROC, of one uid in one user namespace; nothing counts outside",
        "cgroups(7), getrlimit(2), user_namespaces(7)",
    ),
    "address_space": Explanation(
        "addresses of each process, above what the template has", "bytes", "refusing",
        "RLIMIT_AS", "ENOMEM from mmap and brk, a MemoryError", _ERRNO_ONLY, _SAME, "getrlimit(2)",
    ),
    "data": Explanation(
        "private writable memory of each process, above what the template has", "bytes", "refusing",
        "RLIMIT_DATA", "ENOMEM from mmap and brk, a MemoryError", _ERRNO_ONLY, _SAME, "getrlimit(2)",
    ),
    "open_files": Explanation(
        "descriptors of each process", "count", "refusing",
        "RLIMIT_NOFILE", "EMFILE", _ERRNO_ONLY, _SAME, "getrlimit(2)",
    ),
    "file_size": Explanation(
        "size of each file that is written", "bytes", "refusing",
        "RLIMIT_FSIZE", "EFBIG; SIGXFSZ if it asks for the signal", _ERRNO_ONLY, _SAME, "getrlimit(2), signal(7)",
    ),
    "disk_bytes": Explanation(
        "all that is written in one sandbox together", "bytes", "refusing",
        "the one tmpfs (size=)", "ENOSPC", "by statvfs on the held directory at the end: usage.refused", _SAME,
        "tmpfs(5)",
    ),
    "inodes": Explanation(
        "files and directories in one sandbox together", "count", "refusing",
        "the one tmpfs (nr_inodes=)", "ENOSPC", "by statvfs on the held directory at the end: usage.refused", _SAME,
        "tmpfs(5)",
    ),
    "sockets": Explanation(
        "sockets of each process; 0: none but a local socketpair, else local ones, and TCP on a loopback that is up",
        "count", "refusing",
        "seccomp: socket() and its families; RLIMIT_NOFILE, since each is an open file",
        "EAFNOSUPPORT; at the number EMFILE", _ERRNO_ONLY, _SAME, "seccomp(2), socket(2), getrlimit(2)",
    ),
    "stdout_bytes": Explanation(
        "what is kept of standard output", "bytes", "terminal",
        "the keeper, which counts what comes out of the pipe", _CUT,
        "by the keeper: stdout.total, stdout.truncated; outcome.limit if it is killed", _SAME, "pipe(7), splice(2)",
    ),
    "stderr_bytes": Explanation(
        "what is kept of standard error", "bytes", "terminal",
        "the keeper, which counts what comes out of the pipe", _CUT,
        "by the keeper: stderr.total, stderr.truncated; outcome.limit if it is killed", _SAME, "pipe(7), splice(2)",
    ),
    "report_bytes": Explanation(
        "the report of the guest's own process", "bytes", "terminal",
        "the keeper, which counts what comes out of the pipe", _GONE, "by the keeper: outcome.limit", _SAME, "pipe(7)",
    ),
    "output_overflow": Explanation(
        "what becomes of a job that writes more than stdout_bytes or stderr_bytes", '"cut" or "kill"', "choice",
        "the keeper", "nothing, or it is killed (SIGKILL)", "as stdout_bytes and stderr_bytes", _SAME, "pipe(7)",
    ),
    "source_bytes": Explanation(
        "the script", "bytes", "terminal",
        "the runtime, before anything is started", "nothing: it does not run", "by its length: outcome.limit", _SAME,
        "the gate reads no more than 262,144 bytes",
    ),
    "upload_bytes": Explanation(
        "the inputs together", "bytes", "terminal",
        "the runtime, before anything is started: Denied", "nothing: it does not run", "by their lengths", _SAME,
        "memfd_create(2), fcntl(2): inputs are sealed memfds",
    ),
    "download_bytes": Explanation(
        "what leaves by a file API or by the egress broker; this version has neither", "bytes", "terminal",
        "nothing yet: streams and artifacts have bounds of their own", "nothing", "nowhere yet", _SAME, "-",
    ),
    "artifact_count": Explanation(
        "files that are taken out of one sandbox", "count", "terminal",
        "the runtime, when the sandbox has stopped", "nothing: it has ended", "by the collector: outcome.limit", _SAME,
        "openat2(2); 100 at most, each is a descriptor of one message: unix(7), SCM_RIGHTS",
    ),
    "artifact_bytes": Explanation(
        "each file that is taken out", "bytes", "terminal",
        "the runtime, by fstat of the opened file", "nothing: it has ended", "by the collector: outcome.limit", _SAME,
        "openat2(2), fstat(2)",
    ),
    "artifact_total_bytes": Explanation(
        "all files that are taken out of one sandbox together", "bytes", "terminal",
        "the runtime, by fstat of the opened files", "nothing: it has ended", "by the collector: outcome.limit", _SAME,
        "openat2(2), fstat(2)",
    ),
}  # fmt: skip


def explain(limit: str) -> Explanation:
    """What is known of a limit, "memory" or "limits.memory"; raises PolicyError if there is none of that name."""
    name = limit.removeprefix("limits.")
    if name not in EXPLANATIONS:
        raise PolicyError(f"no limit {limit!r}; there are {', '.join(EXPLANATIONS)}")
    return EXPLANATIONS[name]
