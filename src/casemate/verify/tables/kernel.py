"""The kernel's own surface: each call that no profile may admit, those that a set may, and sweeps over all numbers."""

from __future__ import annotations

from casemate.verify.model import VM, Probe
from casemate.verify.tables.rows import KERNEL

MINIMUM = 100
_B = "kernel"

# Arguments that are wrong, so that a call which gets through does nothing: a bad pointer, descriptor or magic number.
_NEVER = {
    "name_to_handle_at": "-1, 0, 0, 0, 0", "open_by_handle_at": "-1, 0, 0", "io_uring_setup": "0, 0",
    "io_uring_enter": "-1, 0, 0, 0", "io_uring_register": "-1, 0, 0, 0", "perf_event_open": "0, 0, -1, -1, 0",
    "bpf": "0, 1, 72", "userfaultfd": "-1", "add_key": "0, 0, 0, 0, 0", "request_key": "0, 0, 0, 0",
    "keyctl": "6, 0, 0, 0", "kcmp": "0, 0, 99, 0, 0", "process_vm_readv": "1, 1, 1, 1, 1, 1",
    "process_vm_writev": "1, 1, 1, 1, 1, 1", "pidfd_open": "1, -1", "pidfd_getfd": "-1, 0, 1",
    "pidfd_send_signal": "-1, 0, 0, 0", "ptrace": "16, 0, 0, 0", "setns": "-1, 0", "unshare": "1",
    "mount": "1, 1, 1, 0, 0", "umount2": "1, 0", "pivot_root": "1, 1", "chroot": "1", "fsopen": "1, 0",
    "fsconfig": "-1, 99, 0, 0, 0", "fsmount": "-1, 0, 0", "fspick": "-1, 1, 0", "open_tree": "-1, 1, 0",
    "move_mount": "-1, 1, -1, 1, 0", "mount_setattr": "-1, 1, 0, 0, 0", "statmount": "0, 0, 0, 1",
    "listmount": "0, 0, 0, 1",
    "init_module": "1, 1, 1", "finit_module": "-1, 0, 0", "delete_module": "1, 0", "kexec_load": "0, 99, 0, 0",
    "kexec_file_load": "-1, -1, 0, 0, 0", "swapon": "1, 0", "swapoff": "1", "acct": "1", "quotactl": "-1, 1, 0, 0",
    "quotactl_fd": "-1, 0, 0, 0", "iopl": "99", "ioperm": "99999, 1, 1", "modify_ldt": "99, 0, 0", "uselib": "1",
    "sysfs": "99, 0, 0", "ustat": "-1, 1", "fanotify_init": "-1, 0", "fanotify_mark": "-1, 0, 0, -1, 1",
    "lookup_dcookie": "0, 0, 0", "nfsservctl": "0, 0, 0", "syslog": "99, 0, 0", "seccomp": "99, 0, 0",
    "landlock_create_ruleset": "1, 1, 99", "landlock_add_rule": "-1, 1, 0, 0", "landlock_restrict_self": "-1, 0",
    "migrate_pages": "0, 0, 0, 0", "move_pages": "0, 1, 0, 0, 0, 0", "personality": "0xFFFFFFFF", "capset": "1, 1",
    "setgroups": "1, 0", "setuid": "-1", "setgid": "-1", "setresuid": "99, 99, 99", "setresgid": "99, 99, 99",
    "setreuid": "99, 99", "setregid": "99, 99", "process_madvise": "-1, 0, 0, 0, 0", "process_mrelease": "-1, 0",
    "sched_setscheduler": "-1, 0, 0", "sched_setattr": "-1, 0, 0", "ioprio_set": "99, 0, 0", "vmsplice": "-1, 0, 0, 0",
    "tkill": "-1, 0", "rt_sigqueueinfo": "-1, 0, 0", "memfd_secret": "-1", "clone3": "1, 1",
    "mknod": "1, 0, 0", "mknodat": "-1, 1, 0, 0", "remap_file_pages": "1, 1, 1, 1, 1",
}  # fmt: skip
# Host-wide where they get through: never called with anything that could take effect, and their twin is in the VM.
_HOST_WIDE = {
    "reboot": "0, 0, 0, 0", "clock_settime": "-1, 1", "settimeofday": "1, 1", "adjtimex": "1", "clock_adjtime": "-1, 1",
    "sethostname": "1, -1", "setdomainname": "1, -1", "vhangup": "", "sync": "", "syncfs": "-1",
}  # fmt: skip
# What a general profile's set may hold; tried where the set of the profile does not.
_CLOSED = {
    "shmget": "0, -1, 0", "shmat": "-1, 0, 0", "shmctl": "-1, 99, 0", "semget": "0, -1, 0", "semop": "-1, 0, 0",
    "msgget": "99, 0", "msgsnd": "-1, 0, 0, 0", "msgrcv": "-1, 0, 0, 0, 0", "mq_open": "1, 0, 0, 0", "mq_unlink": "1",
    "memfd_create": "1, 0", "execve": "1, 0, 0", "execveat": "-1, 1, 0, 0, 0", "inotify_init1": "-1",
    "inotify_add_watch": "-1, 1, 0", "timer_create": "-1, 0, 0", "timerfd_create": "-1, 0", "signalfd4": "-1, 0, 8, 0",
    "io_setup": "0, 0", "io_submit": "0, 1, 0", "splice": "-1, 0, -1, 0, 0, 0", "tee": "-1, -1, 0, 0",
    "setpriority": "99, 0, 0", "sched_setaffinity": "0, 0, 0", "sched_setparam": "-1, 0", "mlock2": "0, 0, -1",
    "mlockall": "99", "mbind": "1, 1, 99, 0, 0, 0", "set_mempolicy": "99, 0, 0", "get_mempolicy": "1, 0, 0, 0, 99",
    "pkey_alloc": "-1, 0", "link": "1, 1", "linkat": "-1, 1, -1, 1, 0", "symlink": "1, 1", "symlinkat": "1, -1, 1",
    "chown": "1, 0, 0", "fchown": "-1, 0, 0", "fchownat": "-1, 1, 0, 0, 0", "setxattr": "1, 1, 0, 0, 0",
    "fsetxattr": "-1, 1, 0, 0, 0", "getxattr": "1, 1, 0, 0", "flock": "-1, 0", "prctl": "0xFFFF, 0, 0, 0, 0",
    "readahead": "-1, 0, 0", "sync_file_range": "-1, 0, 0, 0", "cachestat": "-1, 0, 0, 0", "connect": "-1, 0, 0",
    "bind": "-1, 0, 0", "listen": "-1, 0", "accept4": "-1, 0, 0, 0", "setsockopt": "-1, 0, 0, 0, 0",
    "sendmmsg": "-1, 0, 0, 0",
    "map_shadow_stack": "1, 1, 99", "set_mempolicy_home_node": "0, 0, -1, 0", "epoll_pwait2": "-1, 0, 0, 0, 0, 0",
    "futex_waitv": "0, 0, 99, 0, 0", "openat2": "-1, 1, 0, 0", "setsid": "", "setpgid": "-1, 0",
}  # fmt: skip
# What is narrowed of a call that a set may hold. The arguments get an answer other than EPERM where no filter stands.
_NARROWED = {
    "prctl-death-signal": "prctl 1 999", "prctl-dumpable": "prctl 4 9", "prctl-keep-capabilities": "prctl 8 99",
    "prctl-filter": "prctl 22 99", "prctl-securebits": "prctl 27", "prctl-timer-slack": "prctl 29 1",
    "prctl-reaper": "prctl 36 1", "prctl-privileges": "prctl 38 0", "prctl-dispatch": "prctl 59 99",
    "prctl-tracer": "prctl 0x59616d61 -2", "fcntl-owner": "fcntl 1 8 0", "fcntl-signal": "fcntl 1 10 999",
    "fcntl-lease": "fcntl 1 1024 99", "fcntl-notice": "fcntl 1 1026 1", "fcntl-pipe-size": "fcntl 1 1031 4096",
    "fcntl-seals": "fcntl 1 1033 0", "fcntl-lock": "fcntl 1 6 1", "fcntl-open-lock": "fcntl 1 37 1",
    "map-writable-code": "mmap 0 4096 7 0x22 -1 0", "map-shared-code": "mmap 0 4096 5 0x21 -1 0",
    "protect-code": "mprotect 1 4096 5", "protect-writable-code": "mprotect 1 4096 7",
    "register-thread-area": "arch_prctl 0x9999 0",
}  # fmt: skip
NAMESPACES = {
    "user": 0x10000000, "mount": 0x00020000, "pid": 0x20000000, "net": 0x40000000, "ipc": 0x08000000,
    "uts": 0x04000000, "cgroup": 0x02000000, "time": 0x00000080,
}  # fmt: skip
_CLONES = {
    **{f"namespace-{name}": flag for name, flag in NAMESPACES.items()},
    "sibling": 0x00008000, "traced": 0x00002000, "untraced": 0x00800000, "stopped-parent": 0x00001000,
    "files": 0x00000400,
}  # fmt: skip
# Not called by a sweep: without arguments they end, stop or split the process, or act on the whole host.
_SWEPT = ("fork", "vfork", "pause", "exit", "exit_group", "rt_sigreturn", "munlockall")
NAMED = tuple(
    dict.fromkeys((*_NEVER, *_HOST_WIDE, *_CLOSED, "clone", "ioctl", "prlimit64", "socketpair", "socket", *_SWEPT,
         *(trace.split()[0] for trace in _NARROWED.values())))
)  # fmt: skip


def _calls(table: dict[str, str], twin: str, unless: str = "") -> tuple[Probe, ...]:
    return tuple(
        Probe(
            f"kernel.{name.replace('_', '-')}", f"calls {name}", KERNEL,
            f"reached('{name}'{', ' if arguments else ''}{arguments})", twin, "filter", _B,
            f"{name} {arguments.replace(',', '')}".strip(), unless=unless,
        )
        for name, arguments in table.items()
    )  # fmt: skip


PROBES: tuple[Probe, ...] = (
    *_calls(_NEVER, "seccomp"),
    *_calls(_HOST_WIDE, VM),
    *_calls(_CLOSED, "seccomp", "set"),
    *(
        Probe(
            f"kernel.clone-{name}", f"clone with {flag:#x}", KERNEL, f"cloned({flag:#x})", "seccomp", "filter", _B,
            f"clone {flag | 17:#x}",
        )
        for name, flag in _CLONES.items()
    ),
    *(
        Probe(
            f"kernel.{name}", f"calls {trace}", KERNEL,
            f"reached('{trace.split()[0]}', {', '.join(trace.split()[1:])})", "seccomp", "filter", _B, trace,
            unless="set",
        )
        for name, trace in _NARROWED.items()
    ),
    Probe(
        "kernel.limits-of-another", "reads and sets the limits of the process above it", KERNEL,
        "reached('prlimit64', 1, 7, 0, 0)", "seccomp", "filter", _B, "prlimit64 1",
    ),
    Probe(
        "kernel.internet-pair", "a socket pair of another family", KERNEL, "reached('socketpair', 2, 1, 0, 0)",
        "seccomp",
        "filter", _B, "socketpair 2 1",
    ),
    Probe(
        "kernel.handle-ring", "keeps an io_uring", KERNEL,
        "kept('io_uring_setup', 8, ctypes.create_string_buffer(120))",
        "memlock", "look", _B, "fd anon_inode:[io_uring]", isolated=False,
    ),
    Probe(
        "kernel.handle-memory-file", "keeps a memory file", KERNEL, "kept('memfd_create', b'x', 0)", "seccomp", "look",
        _B, "fd /memfd:", isolated=False,
    ),
    Probe(
        "kernel.handle-process", "keeps a descriptor of a process", KERNEL, "kept('pidfd_open', os.getpid(), 0)",
        "seccomp", "look", _B, "fd anon_inode:[pidfd]", isolated=False,
    ),
    Probe(
        "kernel.handle-watch", "keeps a watch on files", KERNEL, "kept('inotify_init1', 0)", "seccomp", "look", _B,
        "fd anon_inode:inotify", isolated=False,
    ),
    Probe(
        "kernel.handle-faults", "keeps a descriptor of page faults", KERNEL, "kept('userfaultfd', 1)", "seccomp",
        "look",
        _B, "fd anon_inode:[userfaultfd]", isolated=False,
    ),
    Probe(
        "kernel.handle-signals", "keeps a descriptor of signals", KERNEL,
        "kept('signalfd4', -1, ctypes.create_string_buffer(8), 8, 0)", "seccomp", "look", _B,
        "fd anon_inode:[signalfd]", isolated=False,
    ),
    Probe(
        "kernel.handle-timer", "keeps a timer", KERNEL, "kept('timerfd_create', 1, 0)", "seccomp", "look", _B,
        "fd anon_inode:[timerfd]", isolated=False,
    ),
    Probe(
        "kernel.handle-filter", "adds a filter of its own", KERNEL, "own_filter()", "seccomp", "look", "own-filter",
        "filters 1", isolated=False,
    ),
    Probe(
        "kernel.handle-personality", "turns address randomisation off", KERNEL, "kept('personality', 0x0040000)",
        "seccomp", "look", _B, "file personality 00000000", isolated=False,
    ),
    Probe(
        "kernel.handle-shared-memory", "keeps System V shared memory", KERNEL, "shared_memory()", "seccomp", "look", _B,
        "map /SYSV", isolated=False,
    ),
    Probe(
        "kernel.handle-aio", "keeps a ring of asynchronous requests", KERNEL,
        "kept('io_setup', 8, ctypes.create_string_buffer(8))", "seccomp", "look", _B, "map /[aio]", isolated=False,
    ),
    Probe(
        "kernel.sweep", "calls every number that the set does not hold", KERNEL, "sweep()", VM, "filter", _B,
        "every number",
    ),
    Probe(
        "kernel.filter-native", "runs the loaded filter over every number", KERNEL, "ran()", "seccomp", "filter", _B,
        "every number",
    ),
    Probe(
        "kernel.filter-x32", "runs the loaded filter over every x32 number", KERNEL, "ran()", "seccomp", "filter", _B,
        "every x32",
    ),
    Probe(
        "kernel.filter-i386", "runs the loaded filter over every i386 number", KERNEL, "ran()", "seccomp", "filter", _B,
        "every i386",
    ),
    Probe(
        "kernel.x32-entry", "enters by x32 numbers", KERNEL, "foreign(x32)", "seccomp", "filter", _B, "every x32",
        isolated=False,
    ),
    Probe(
        "kernel.i386-entry", "enters by the 32-bit gate", KERNEL, "foreign(i386())", "seccomp", "filter", _B,
        "every i386",
        isolated=False,
    ),
    Probe(
        "kernel.vsyscall", "has the page of legacy calls mapped for reading", KERNEL,
        "[l for l in open('/proc/self/maps') if 'vsyscall' in l and ' r' in l]", VM, "look", _B, "map r-xp [vsyscall",
    ),
)  # fmt: skip
