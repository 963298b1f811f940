"""The loaded filter, attacked for real in a process of its own; each attack works where the filter or the rule is not.

`name="python-fcntl"` is the set with its rule for fcntl taken out (programs/filtered.py)."""

from __future__ import annotations

import errno
import os
import platform
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from harness import DATA, PROGRAMS
from runtime.filters import SETS, filtered
from runtime.test_seccomp import NEVER, NOT_IN_CAD, NOT_IN_STRICT, numbers

NAMESPACES = (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000, 0x00000080)
FAMILIES = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK, socket.AF_PACKET, 38, 40)  # ALG, VSOCK
SIGINFO = (signal.SIGCHLD, 0, 0, 0, 0)


# --- numbers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SETS)
def test_the_kernel_refuses_every_call_that_no_guest_may_make(name: str) -> None:
    extra = {"cad": NOT_IN_CAD, "strict": NOT_IN_STRICT, "python": ()}[name]
    found = numbers((*NEVER, *extra))
    answers = filtered(*((number, -1, -1, -1, -1, -1, -1) for number in found.values()), name=name)
    assert dict(zip(found, answers, strict=True)) == dict.fromkeys(found, errno.EPERM)
    unassigned = filtered(*((number, -1, -1, -1, -1, -1, -1) for number in range(471, 1024)), name=name)
    assert set(unassigned) == {errno.EPERM}


def test_twin_without_the_filter_they_reach_the_kernel() -> None:
    alone = ("vhangup", "fork", "vfork", "clone", "pause", "setsid", "tee", "munlockall")
    found = numbers(tuple(name for name in (*NEVER, *NOT_IN_STRICT) if name not in alone))
    answers = dict(
        zip(found, filtered(*((n, -1, -1, -1, -1, -1, -1) for n in found.values()), name="none"), strict=True)
    )
    reached = [name for name, answer in answers.items() if answer not in (errno.EPERM, errno.ENOSYS)]
    # What is left needs a capability, or is not in this kernel.
    assert len(reached) > len(found) / 2
    assert {"ptrace", "keyctl", "bpf", "userfaultfd", "pidfd_open", "shmget", "memfd_create", "unshare"} <= set(found)
    assert set(filtered(*((number, -1) for number in range(600, 620)), name="none")) == {errno.ENOSYS}


x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="two more interfaces, of x86_64 only")


@x86
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("attack", [(0x40000000 + 39,), ("entry32",)], ids=["x32", "i386"])
def test_a_second_interface_ends_the_process(name: str, attack: tuple[Any, ...]) -> None:
    filtered(attack, name=name, expect=-signal.SIGSYS)


@x86
@pytest.mark.parametrize("attack", [(0x40000000 + 39,), ("entry32",)], ids=["x32", "i386"])
def test_a_second_interface_ends_all_threads_of_the_process(attack: tuple[Any, ...]) -> None:
    filtered(("in a thread", *attack), expect=-signal.SIGSYS)


@x86
def test_twin_without_the_filter_a_second_interface_answers() -> None:
    # x32 is not in this kernel, or is: either way nobody is killed. getpid of i386 is getpid.
    assert filtered((0x40000000 + 39,), ("entry32",), ("in a thread", "entry32"), name="none") in (
        [errno.ENOSYS, 0, 0],
        [0, 0, 0],
    )


# --- processes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SETS)
def test_no_namespace_by_any_call(name: str) -> None:
    wanted: list[tuple[Any, ...]] = [("unshare", flag) for flag in (0, *NAMESPACES)]
    wanted += [("clone", flag | SIGINFO[0], *SIGINFO[1:], 0) for flag in NAMESPACES]
    wanted += [("clone", sum(NAMESPACES) | SIGINFO[0], *SIGINFO[1:], 0), ("setns", 0, 0)]
    wanted += [("clone", 0x8000 | SIGINFO[0], *SIGINFO[1:], 0)]  # CLONE_PARENT
    assert set(filtered(*wanted, name=name)) == {errno.EPERM}


def test_twin_without_its_rule_clone_makes_a_namespace() -> None:
    wanted = [("clone", flag | SIGINFO[0], *SIGINFO[1:], 0) for flag in (0x10000000, 0x8000)]
    assert filtered(*wanted, name="python-clone") == [0, 0]
    assert filtered(("unshare", 0x10000000), name="none") == [0]


@pytest.mark.parametrize("name", ["cad", "python"])
def test_clone3_is_not_there_and_threads_start_all_the_same(name: str) -> None:
    # Its flags are in memory, where no filter sees them: ENOSYS makes the C library use clone.
    assert filtered(("clone3", 0, 0), ("threads",), name=name) == [errno.ENOSYS, 0]


def test_no_other_program_is_started() -> None:
    for name in ("cad", "strict"):
        wanted = [("execve", 0, 0, 0), ("execveat", -100, 0, 0, 0, 0)]
        assert filtered(*wanted, name=name) == [errno.EPERM] * 2
        assert errno.EPERM not in filtered(*wanted, name="none")


def test_limits_of_oneself_only() -> None:
    nofile = 7
    assert filtered(("prlimit64", 0, nofile, 0, 0), ("prlimit64", 1, nofile, 0, 0)) == [0, errno.EPERM]
    for name in ("cad", "python"):
        assert filtered(("lower",), ("prlimit64", os.getpid(), nofile, 0, 0), name=name) == [errno.EPERM] * 2
    assert filtered(("lower",), name="python-prlimit64") == [0]


def test_of_prctl_only_a_thread_s_name() -> None:
    dumpable, name, parent_death, securebits, tracer, seccomp = 4, 15, 1, 28, 0x59616D61, 22
    wanted = [("prctl", option, 0, 0, 0, 0) for option in (dumpable, parent_death, securebits, tracer, seccomp)]
    assert set(filtered(*wanted, name="python")) == {errno.EPERM}
    assert filtered(("prctl", dumpable, 0, 0, 0, 0), ("prctl", parent_death, 0, 0, 0, 0), name="python-prctl") == [0, 0]
    assert filtered(("prctl", name, 0, 0, 0, 0), name="python") == [errno.EFAULT]


# --- sockets ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["cad", "python", "strict", "cad+unix+inet", "strict+unix+inet"])
def test_no_socket_of_any_family(name: str) -> None:
    wanted = [("socket", family, kind, 0) for family in FAMILIES for kind in (socket.SOCK_STREAM, socket.SOCK_RAW)]
    assert set(filtered(*wanted, name=name)) == {errno.EAFNOSUPPORT}


def test_local_sockets_where_the_policy_counts_some() -> None:
    kinds = [("socket", socket.AF_UNIX, kind | 0o2004000, 0) for kind in (1, 2, 5)]
    others = [("socket", family, 1, 0) for family in FAMILIES[1:]]
    answers = filtered(*kinds, ("socket", socket.AF_UNIX, socket.SOCK_RAW, 0), *others, name="python+unix")
    assert answers == [0, 0, 0, errno.EPERM] + [errno.EAFNOSUPPORT] * len(others)


def test_tcp_where_the_policy_has_egress() -> None:
    mptcp, sctp, icmp = 262, 132, 1
    tcp = [("socket", family, 1, protocol) for family in FAMILIES[1:3] for protocol in (0, 6)]
    closed = [("socket", family, 1, protocol) for family in FAMILIES[1:3] for protocol in (mptcp, sctp)]
    closed += [("socket", 2, 2, 0), ("socket", 2, 2, icmp), ("socket", 2, 3, 6), ("socket", 10, 5, 0)]
    answers = filtered(*tcp, *closed, ("socket", 16, 3, 0), name="python+inet")
    assert answers == [0] * len(tcp) + [errno.EPERM] * len(closed) + [errno.EAFNOSUPPORT]
    # Datagrams, at least, are there for whoever has no filter.
    assert filtered(("socket", 2, 2, 0), ("socket", 16, 3, 0), name="none") == [0, 0]


def test_a_pair_of_unix_sockets_and_of_no_other_kind() -> None:
    others = [("socketpair", family, socket.SOCK_STREAM, 0, 0) for family in FAMILIES if family != socket.AF_UNIX]
    assert filtered(("pair",), *others, name="python") == [0] + [errno.EPERM] * len(others)
    assert errno.EPERM not in filtered(*others[:2], name="python-socketpair")


# --- descriptors ------------------------------------------------------------------------------------------------------


def test_a_terminal_takes_no_input_from_a_guest() -> None:
    tiocsti, tioclinux, tiocsctty, tcgets, high = 0x5412, 0x541C, 0x540E, 0x5401, 1 << 32
    for name in SETS:
        wanted = [("ioctl", 0, request) for request in (tiocsti, tioclinux, tiocsctty, tiocsti | high, 0, 0xFFFFFFFF)]
        assert set(filtered(*wanted, ("stuff", tiocsti), ("stuff", tioclinux), name=name)) == {errno.EPERM}
        # What passes is answered by the kernel: standard input is /dev/null, which is no terminal.
        assert filtered(("ioctl", 0, tcgets, 0), ("ioctl", 0, 0x5451), name=name) == [errno.ENOTTY, 0]


def test_twin_without_its_rule_ioctl_puts_input_into_a_terminal() -> None:
    [answer] = filtered(("stuff", 0x5412), name="python-ioctl")
    # A user may not, where the host's dev.tty.legacy_tiocsti is 0.
    assert answer == 0 or (answer == errno.EIO and os.geteuid() != 0)


FCNTL = {
    "owner": (8, 1), "signal": (10, signal.SIGUSR1), "owner of any kind": (15, 0), "lease": (1024, 0),
    "notice": (1026, 1), "size of a pipe": (1031, 1 << 19), "seals": (1033, 0), "hint": (1036, 0),
}  # fmt: skip


def test_fcntl_signals_nobody_and_takes_no_memory() -> None:
    wanted = [("on pipe", *pair) for pair in FCNTL.values()]
    for name in ("cad", "python"):
        answers = filtered(*wanted, *(("fcntl", 0, command | 1 << 32, 0) for command in (8, 1031)), name=name)
        assert set(answers) <= {errno.EPERM}
    twin = dict(zip(FCNTL, filtered(*wanted, name="python-fcntl"), strict=True))
    assert {name for name, answer in twin.items() if answer == 0} >= {"signal", "lease", "notice", "size of a pipe"}


def test_a_guest_that_only_computes_writes_no_file() -> None:
    writing = [os.O_WRONLY, os.O_RDWR, os.O_RDONLY | os.O_CREAT, os.O_RDONLY | os.O_TRUNC]
    writing += [os.O_TMPFILE | os.O_WRONLY, os.O_TMPFILE | os.O_RDWR, 3]
    wanted = [("opened", flags) for flags in writing]
    assert set(filtered(*wanted, name="strict")) == {errno.EPERM}
    assert filtered(("opened", os.O_RDONLY), ("opened", os.O_RDONLY | os.O_DIRECTORY), name="strict") == [0, 0]
    assert filtered(*wanted[:4], name="strict-openat") == [0] * 4


def test_of_nodes_only_named_pipes() -> None:
    fifo, regular, device, block = 0o010000, 0o100000, 0o020000, 0o060000
    assert filtered(("node", fifo), ("node", regular), ("node", device), ("node", block), name="python") == (
        [0] + [errno.EPERM] * 3
    )
    assert filtered(("node", regular), name="python-mknodat-mknod") == [0]


# --- memory -----------------------------------------------------------------------------------------------------------

WAYS = [("native", "both"), ("native", "changes"), ("native", "two addresses")]


@pytest.mark.parametrize("name", ["cad", "strict"])
def test_no_code_but_the_image_s(name: str) -> None:
    assert filtered(*WAYS, name=name) == [errno.EPERM] * 3


def test_twin_without_its_rules_a_guest_runs_code_of_its_own() -> None:
    assert filtered(WAYS[0], name="cad-mmap") == [0]
    assert filtered(WAYS[1], name="cad-mprotect") == [0]
    assert filtered(WAYS[2], name="cad-mmap") == [0]


def test_where_callbacks_need_it_code_of_one_s_own_is_private() -> None:
    assert filtered(*WAYS, name="python") == [0, errno.EPERM, errno.EPERM]
    assert filtered(WAYS[2], name="python-mmap") == [0]


def test_no_file_in_memory_which_could_be_executed() -> None:
    for name in SETS:
        assert filtered(("memfd_create", 0, 0), ("memfd_create", 0, 8), name=name) == [errno.EPERM] * 2
    assert filtered(("memfd_create", 0, 0), name="none") == [errno.EFAULT]


# --- what must work ---------------------------------------------------------------------------------------------------


def test_what_an_interpreter_needs_works() -> None:
    for name in ("cad", "python"):
        assert filtered(("file",), ("threads",), ("getpid",), ("umask", 0o77), name=name) == [0] * 4


JOBS = sorted((DATA / "syscalls" / "python").glob("*.py"))


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.stem)
def test_python_and_shell_programs_run_behind_their_set(job: Path, tmp_path: Path) -> None:
    # Each asserts what it does. In a sandbox they ran when they were traced.
    done = subprocess.run(
        [sys.executable, str(PROGRAMS / "behind.py"), "python", str(job)],
        capture_output=True, text=True, timeout=100, stdin=subprocess.DEVNULL, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]


def test_twin_behind_a_smaller_set_they_do_not(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(PROGRAMS / "behind.py"), "cad", str(DATA / "syscalls" / "python" / "sockets.py")],
        capture_output=True, text=True, timeout=100, stdin=subprocess.DEVNULL, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode != 0
    assert "PermissionError" in done.stderr or "Address family" in done.stderr
