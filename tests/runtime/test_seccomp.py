"""The system call filter: its data is whole, and the compiled program refuses what it must when it is loaded."""

from __future__ import annotations

import base64
import errno
import json
import os
import platform
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from harness import PROGRAMS

from casemate.errors import PolicyError
from casemate.runtime import seccomp

SETS = tuple(
    path.stem for path in (Path(seccomp.__file__).parents[1] / "profiles" / "syscalls").glob("*.toml")
)  # fmt: skip


def filtered(*wanted: tuple[Any, ...], name: str = "cad", expect: int = 0) -> list[int]:
    """The errno of each call behind the filter, in a process of its own."""
    done = subprocess.run(
        [sys.executable, str(PROGRAMS / "filtered.py"), name, json.dumps(wanted)],
        capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == expect, done.stderr
    return json.loads(done.stdout) if expect == 0 else []


# --- the data ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SETS)
def test_a_shipped_set_has_no_call_twice(name: str) -> None:
    calls = seccomp.names(name)
    assert len(calls) == len(set(calls)) > 50


@pytest.mark.parametrize("name", SETS)
def test_a_shipped_set_lacks_what_no_guest_may_do(name: str) -> None:
    # Not namespaced, or a way to more power (the notes of seccomp(2) and of Docker's default profile).
    forbidden = {
        "ptrace", "process_vm_readv", "process_vm_writev", "keyctl", "add_key", "request_key", "io_uring_setup",
        "bpf", "perf_event_open", "userfaultfd", "unshare", "setns", "mount", "umount2", "pivot_root", "chroot",
        "open_by_handle_at", "name_to_handle_at", "kexec_load", "init_module", "finit_module", "reboot", "socket",
        "connect", "bind", "listen", "accept", "clone3", "seccomp", "personality", "fsopen", "move_mount", "open_tree",
        "pidfd_getfd", "pidfd_open", "process_madvise", "mknod", "mknodat", "execve", "execveat", "memfd_create",
        "symlink", "symlinkat", "link", "linkat", "setuid", "setresuid", "capset", "iopl", "ioperm", "modify_ldt",
        "vmsplice", "mbind", "set_mempolicy", "move_pages", "shmget", "msgget", "semget", "mq_open",
    }  # fmt: skip
    assert not forbidden & set(seccomp.names(name))


@pytest.mark.parametrize("name", ["nothing", "", "../profiles/cad", "cad.toml", "a/b", "cad\0", "-"])
def test_an_unknown_set_is_refused(name: str) -> None:
    with pytest.raises(PolicyError, match="no system call set"):
        seccomp.names(name)


@pytest.mark.parametrize(
    "text",
    [
        '[groups.a]\nwhy = "x"\ncalls = ["read", "read"]\n',
        '[groups.a]\nwhy = "x"\ncalls = ["read"]\n[groups.b]\nwhy = "x"\ncalls = ["read"]\n',
        '[groups.a]\nwhy = ""\ncalls = ["read"]\n',
        '[groups.a]\nwhy = "  "\ncalls = ["read"]\n',
        '[groups.a]\ncalls = ["read"]\n',
        '[groups.a]\nwhy = "x"\n',
        '[groups.a]\nwhy = "x"\ncalls = []\n',
        '[groups.a]\nwhy = 1\ncalls = ["read"]\n',
        '[groups.a]\nwhy = "x"\ncalls = 7\n',
        "[groups]\n", "groups = 3\n", "", "[[", 'groups = ["a"]\n',
    ],
)  # fmt: skip
def test_a_set_that_is_not_whole_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    (tmp_path / "profiles" / "syscalls").mkdir(parents=True)
    (tmp_path / "profiles" / "syscalls" / "mine.toml").write_text(text)
    monkeypatch.setattr(seccomp.resources, "files", lambda _: tmp_path)
    with pytest.raises(PolicyError, match="mine"):
        seccomp.names("mine")


def test_a_program_is_whole_instructions_and_always_the_same() -> None:
    program = base64.b64decode(seccomp.compiled("cad"), validate=True)
    assert program
    assert len(program) % 8 == 0
    assert len(program) // 8 <= 4096  # BPF_MAXINSNS
    seccomp.compiled.cache_clear()
    assert base64.b64decode(seccomp.compiled("cad")) == program


# --- the loaded program -----------------------------------------------------------------------------------------------

NAMESPACES = (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000, 0x00000080)
FAMILIES = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK, socket.AF_PACKET, 38, 40)  # ALG, VSOCK


def test_no_socket_of_any_family() -> None:
    wanted = [("socket", family, kind, 0) for family in FAMILIES for kind in (socket.SOCK_STREAM, socket.SOCK_RAW)]
    assert set(filtered(*wanted)) == {errno.EAFNOSUPPORT}


def test_a_pair_of_unix_sockets_and_of_no_other_kind() -> None:
    others = [("socketpair", family, socket.SOCK_STREAM, 0, 0) for family in FAMILIES if family != socket.AF_UNIX]
    assert filtered(("pair",), *others) == [0] + [errno.EPERM] * len(others)


def test_no_namespace_by_any_call() -> None:
    wanted = [("unshare", flag) for flag in (0, *NAMESPACES)]
    wanted += [("clone", flag | signal.SIGCHLD, 0, 0, 0, 0) for flag in NAMESPACES]
    wanted += [("clone", sum(NAMESPACES) | signal.SIGCHLD, 0, 0, 0, 0), ("setns", 0, 0)]
    assert set(filtered(*wanted)) == {errno.EPERM}


def test_clone3_is_not_there_and_threads_start_all_the_same() -> None:
    # Its flags are in memory, where no filter sees them: ENOSYS makes the C library use clone.
    assert filtered(("clone3", 0, 0), ("threads",)) == [errno.ENOSYS, 0]


def test_no_other_program_is_started() -> None:
    assert filtered(("execve", 0, 0, 0), ("execveat", -100, 0, 0, 0, 0)) == [errno.EPERM] * 2


def test_a_terminal_takes_no_input_from_a_guest() -> None:
    tiocsti, tioclinux, tiocsctty, tcgets, high = 0x5412, 0x541C, 0x540E, 0x5401, 1 << 32
    wanted = [("ioctl", 0, request) for request in (tiocsti, tioclinux, tiocsctty, tiocsti | high, 0, 0xFFFFFFFF)]
    assert set(filtered(*wanted)) == {errno.EPERM}
    # What passes is answered by the kernel: standard input is /dev/null, which is no terminal.
    assert filtered(("ioctl", 0, tcgets, 0), ("ioctl", 0, 0x5451)) == [errno.ENOTTY, 0]


def test_limits_of_oneself_only() -> None:
    nofile = 7
    assert filtered(("prlimit64", 0, nofile, 0, 0), ("prlimit64", 1, nofile, 0, 0)) == [0, errno.EPERM]
    assert filtered(("prlimit64", os.getpid(), nofile, 0, 0)) == [errno.EPERM]


def test_what_is_not_in_the_set_is_not_permitted() -> None:
    names = (
        "ptrace", "process_vm_readv", "keyctl", "add_key", "request_key", "io_uring_setup", "bpf", "perf_event_open",
        "userfaultfd", "mount", "umount2", "pivot_root", "chroot", "open_by_handle_at", "init_module", "memfd_create",
        "pidfd_open", "pidfd_getfd", "setresuid", "capset", "prctl", "seccomp", "mknodat", "symlinkat", "linkat",
        "shmget", "msgget", "semget", "mq_open", "personality", "setsid", "setpgid", "splice", "vmsplice", "reboot",
    )  # fmt: skip
    assert dict(zip(names, filtered(*((name, 0, 0, 0, 0, 0) for name in names)), strict=True)) == dict.fromkeys(
        names, errno.EPERM
    )


def test_without_the_filter_the_same_calls_work() -> None:
    wanted = [("socket", socket.AF_UNIX, socket.SOCK_STREAM, 0), ("unshare", 0), ("prlimit64", os.getpid(), 7, 0, 0)]
    wanted += [("personality", 0xFFFFFFFF), ("unshare", 0x10000000)]
    answers = filtered(*wanted, name="none")
    assert (answers[0], answers[1], answers[4]) == (0, 0, 0)
    assert errno.EPERM not in answers


def test_what_an_interpreter_needs_works() -> None:
    assert filtered(("file",), ("threads",), ("pair",), ("getpid",), ("umask", 0o77)) == [0] * 5


def test_numbers_of_a_foreign_interface_kill() -> None:
    if platform.machine() != "x86_64":
        pytest.skip("x32 is a second interface of x86_64 only")
    filtered((0x40000000 + 39,), expect=-signal.SIGSYS)  # getpid as x32
