"""Mutants of the system call filter: each rule, answer and family widened singly, in each set."""

from __future__ import annotations

from collections.abc import Iterator

from mutants.mutant import Mutant, source

from casemate.runtime import seccomp, syscall_rules

TESTS = ("tests/runtime/test_seccomp.py", "tests/runtime/test_seccomp_attacks.py")
COMPILER, RULES = "runtime/seccomp.py", "runtime/syscall_rules.py"
CLOSED = (
    "ptrace", "process_vm_readv", "keyctl", "add_key", "io_uring_setup", "bpf", "perf_event_open", "userfaultfd",
    "unshare", "setns", "mount", "umount2", "pivot_root", "chroot", "open_by_handle_at", "kexec_load", "init_module",
    "finit_module", "reboot", "seccomp", "personality", "fsopen", "move_mount", "mount_setattr", "pidfd_getfd",
    "pidfd_open", "pidfd_send_signal", "execveat", "memfd_create", "setuid", "setresuid", "setgroups", "capset",
    "vmsplice", "shmget", "msgget", "semget", "mq_open", "clock_settime", "settimeofday", "adjtimex", "sethostname",
    "syslog", "quotactl", "swapon", "acct", "fanotify_init", "sync", "mlock", "mlockall", "pkey_mprotect",
    "ioprio_set", "sched_setaffinity", "sched_setscheduler", "setpriority", "kcmp", "io_setup", "rt_sigqueueinfo",
    "ioperm", "iopl", "modify_ldt",
)  # fmt: skip
"""No set has them; one of each family of what the issue of a shared kernel is."""


def mutants() -> Iterator[Mutant]:
    """All of them."""
    for call in syscall_rules.RULES:
        old, new = "        return RULES.get(call)\n", f"        return None if call == {call!r} else RULES.get(call)\n"
        yield _one(f"{call} with any argument", COMPILER, old, new)
    for call, name in syscall_rules.VARIANTS:
        old = "            return VARIANTS[call, self.variants[call]]\n"
        new = f"            return None if call == {call!r} else VARIANTS[call, self.variants[call]]\n"
        yield _one(f"{call} with any argument, where it is {name}", COMPILER, old, new)
    for call in syscall_rules.ANSWERS:
        old = "        rules.add_rule(pyseccomp.ERRNO(answer), call)\n"
        new = f"        rules.add_rule(pyseccomp.ALLOW if call == {call!r} else pyseccomp.ERRNO(answer), call)\n"
        yield _one(f"{call} is let through", COMPILER, old, new)
    for name in seccomp.shipped():
        for call in CLOSED:
            old = "    for call in () if traced else wanted.calls:\n"
            new = f"    for call in () if traced else (*wanted.calls, *(({call!r},) if name == {name!r} else ())):\n"
            edits = ((COMPILER, old, new),)
            yield Mutant("system call", f"system call: {call} in {name}", edits, TESTS[:1], TESTS[1:])
    yield from _arguments()
    yield from _sockets()


def _one(name: str, file: str, old: str, new: str) -> Mutant:
    return Mutant("system call", f"system call: {name}", ((file, old, new),), TESTS)


def _arguments() -> Iterator[Mutant]:
    """One more value, or one word less to match."""
    for name, old, new in (
        ("clone makes a user namespace", "0x00000011), WORD)", "0x00000011, 0x10000011), WORD)"),
        ("clone makes a sibling", "0x00000011), WORD)", "0x00000011, 0x00008011), WORD)"),
        ("clone's flags of the high half", "0x00000011), WORD)", "0x00000011))"),
        ("fcntl sets an owner", "(0, 1, 2, 3, 4, 1030, 1032)", "(0, 1, 2, 3, 4, 8, 1030, 1032)"),
        ("fcntl takes a lease", "(0, 1, 2, 3, 4, 1030, 1032)", "(0, 1, 2, 3, 4, 1024, 1030, 1032)"),
        ("fcntl grows a pipe", "(0, 1, 2, 3, 4, 1030, 1032)", "(0, 1, 2, 3, 4, 1030, 1031, 1032)"),
        ("fcntl locks everywhere", "(0, 1, 2, 3, 4, 1030, 1032)", "(0, 1, 2, 3, 4, 5, 6, 1030, 1032)"),
        ("ioctl TIOCSTI", "0x5451, 0x5421))\n", "0x5451, 0x5421, 0x5412))\n"),
        ("ioctl TIOCLINUX", "0x5451, 0x5421))\n", "0x5451, 0x5421, 0x541C))\n"),
        ("ioctl TIOCSETD of a terminal", "0x5414, 0x80045430,", "0x5423, 0x5414, 0x80045430,"),
        ("mmap writable and executable", "(Match(2, _PROT_WRITE | _PROT_EXEC, _PROT_EXEC),", "(Match(2, _PROT_EXEC, _PROT_EXEC),"),
        ("mmap of anonymous code", "Match(3, _MAP_TYPE | _MAP_ANONYMOUS, _MAP_PRIVATE)", "Match(3, _MAP_TYPE, _MAP_PRIVATE)"),
        ("mmap of shared code", "Match(3, _MAP_TYPE | _MAP_ANONYMOUS, _MAP_PRIVATE)", "Match(3, _MAP_ANONYMOUS, 0)"),
        ("own code that is shared", '("mmap", "own-code"): ((_NO_CODE,), (Match(3, _MAP_TYPE, _MAP_PRIVATE),)),', '("mmap", "own-code"): ((_NO_CODE,), (Match(2, 4, 4),)),'),
        ("prctl dumpable", "_one_of(0, (15, 16))", "_one_of(0, (4, 15, 16))"),
        ("prctl of a tracer", "_one_of(0, (15, 16))", "_one_of(0, (15, 16, 0x59616D61))"),
        ("arch_prctl of the other segment", "_one_of(0, (0x1002,))", "_one_of(0, (0x1001, 0x1002))"),
        ("a pair of inet sockets", '"socketpair": _one_of(0, (1,))', '"socketpair": _one_of(0, (1, 2))'),
        ("mknod of a device", '"mknod": ((Match(1, _FORMAT, _FIFO),),)', '"mknod": ((Match(1, _FORMAT, _FIFO),), (Match(1, _FORMAT, 0o020000),))'),
        ("mknodat of a device", '"mknodat": ((Match(2, _FORMAT, _FIFO),),)', '"mknodat": ((Match(2, _FORMAT, _FIFO),), (Match(2, _FORMAT, 0o020000),))'),
        ("read-only opens that create", "_WRITING = 0o3 | 0o100 |", "_WRITING = 0o3 |"),
        ("read-only opens that truncate", "| 0o1000 |", "|"),
        ("read-only opens of a file without a name", " | 0o20000000", ""),
        ("read-only opens that write", "_WRITING = 0o3 | ", "_WRITING = "),
    ):  # fmt: skip
        yield _one(name, RULES, old, new)


def _sockets() -> Iterator[Mutant]:
    for name, file, old, new in (
        ("every family is EPERM and no more", COMPILER, "    for family in set(range(FAMILIES)) - opened:\n", "    for family in ():\n"),
        ("no answer to a socket where there is none", COMPILER, '        rules.add_rule(pyseccomp.ERRNO(errno.EAFNOSUPPORT), "socket")\n', '        rules.add_rule(pyseccomp.ALLOW, "socket")\n'),
        ("netlink sockets", RULES, "AF_UNIX, AF_INET, AF_INET6 = 1, 2, 10", "AF_UNIX, AF_INET, AF_INET6 = 1, 16, 10"),
        ("raw unix sockets", RULES, "(_STREAM, _DGRAM, _SEQPACKET))\n", "(_STREAM, _DGRAM, _SEQPACKET, 3))\n"),
        ("TCP sockets of any protocol", RULES, ", Match(2, INT, protocol))", ")"),
        ("datagrams where there is TCP", RULES, "Match(1, _TYPE, _STREAM), Match(2,", "Match(2,"),
        ("TCP without egress", RULES, "(tcp if inet else ())", "tcp"),
        ("local sockets without a limit", RULES, "(local if unix else ())", "local"),
        ("high halves count", RULES, "INT, WORD = 0xFFFFFFFF,", "INT, WORD = 0xFFFFFFFFFFFFFFFF,"),
        ("a terminal's requests without one", COMPILER, '        if call == "ioctl" and pty:\n', '        if call == "ioctl":\n'),
        ("what is not named is let through", COMPILER, "pyseccomp.ERRNO(errno.EPERM))\n", "pyseccomp.ALLOW)\n"),
        ("other architectures end a thread only", COMPILER, "pyseccomp.KILL_PROCESS)", "pyseccomp.KILL)"),
        ("other architectures are refused only", COMPILER, "pyseccomp.KILL_PROCESS)", "pyseccomp.ERRNO(errno.EPERM))"),
    ):  # fmt: skip
        yield _one(name, file, old, new)
    assert "_sockets(rules, families, traced=traced)" in source(COMPILER)
