"""Which of strace's lines count: those of a process that has loaded its filter, and of its children."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from casemate.errors import SandboxFault
from casemate.runtime import tracing

FORK = "clone(child_stack=NULL, flags=0x1200000|17, child_tidptr=0x7f1) = {inside} /* {outside} in strace's PID NS */"


def fed(*lines: str, attached: tuple[int, ...] = (10, 11)) -> list[tracing.Call]:
    tree = tracing.Tree()
    tree.attached(attached)
    return [call for line in lines for call in tree.feed(line)]


def test_only_what_comes_after_the_filter_counts() -> None:
    assert fed(
        "10   read(0x3, 0x7ffe, 0x10) = 0x10",
        "10   " + FORK.format(inside=2, outside=20),
        "20   openat(0xffffff9c, 0x7f00, 0) = 0x3",
        "20   seccomp(0x1, 0, 0x7f67) = 0",
        "20   ioctl(0x1, 0x5401, 0x7ffe) = -1 ENOTTY (Inappropriate ioctl for device)",
        "10   write(0x3, 0x7ffe, 0x10) = 0x10",
        "20   exit_group(0) = ?",
        "20   +++ exited with 0 +++",
    ) == [("ioctl", (1, 0x5401, 0x7FFE)), ("exit_group", (0,))]


def test_a_filter_that_was_not_loaded_does_not_count() -> None:
    assert fed("10   seccomp(0x1, 0, 0x7f67) = -1 EACCES (Permission denied)", "10   getpid() = 0xa") == []


def test_children_of_what_counts_count_and_others_do_not() -> None:
    start = ("10   seccomp(0x1, 0, 0x7f67) = 0",)
    assert fed(*start, "10   " + FORK.format(inside=3, outside=30), "30   getpid() = 0x3") == [
        ("clone", (0x1200011,)),
        ("getpid", ()),
    ]
    assert fed(*start, "11   " + FORK.format(inside=3, outside=30), "30   getpid() = 0x3") == []
    # A thread is a child, and where nobody is in another namespace its number is as it is.
    assert fed(*start, "10   clone(flags=0x3d0f00) = 31", "31   futex(0x1, 0x80) = 0")[1] == ("futex", (1, 0x80))


def test_a_child_that_speaks_before_its_parent_s_fork_returns() -> None:
    lines = (
        "10   seccomp(0x1, 0, 0x7f67) = 0",
        "10   clone(child_stack=NULL, flags=0x1200000|17 <unfinished ...>",
        "30   getpid() = 0x3",
        "30   +++ exited with 0 +++",
        "10   <... clone resumed>, child_tidptr=0x7f1) = 3 /* 30 in strace's PID NS */",
        "30   getuid() = 0",
    )
    # The second process 30 is nobody's yet.
    assert fed(*lines) == [("clone", (0x1200011,)), ("getpid", ())]


def test_a_call_that_goes_on_later_is_counted_once() -> None:
    assert fed(
        "10   seccomp(0x1, 0, 0x7f67) = 0",
        "10   read(0x3, 0x7ffe, 0x10 <unfinished ...>",
        "11   getpid() = 0xb",
        "10   <... read resumed>) = 0x10",
        "10   restart_syscall( <unfinished ...>",
        "10   <... restart_syscall resumed>) = 0",
    ) == [("read", (3, 0x7FFE, 0x10)), ("restart_syscall", ())]


def test_a_number_that_comes_again_is_another_process() -> None:
    assert (
        fed(
            "10   seccomp(0x1, 0, 0x7f67) = 0",
            "10   +++ killed by SIGSYS +++",
            "11   " + FORK.format(inside=3, outside=10),
            "10   getpid() = 0xa",
        )
        == []
    )


def test_every_process_below() -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", "import os, sys\nif os.fork(): print(1, flush=True)\nsys.stdin.read()"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == b"1\n"
        found = tracing.below(child.pid)
        assert child.pid in found
        assert len(found) == 2
        assert found < tracing.below(os.getpid())
    finally:
        child.communicate(b"", 10)


def test_without_strace_there_is_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    real = subprocess.Popen
    monkeypatch.setattr(
        subprocess, "Popen", lambda argv, **more: real(["/nonexistent/" + str(argv[0]), *argv[1:]], **more)
    )
    with pytest.raises(SandboxFault, match=r"Debian has it in the package strace"), tracing.recorded([os.getpid()]):
        pass


def test_a_process_that_is_gone_cannot_be_traced() -> None:
    if shutil.which("strace") is None:
        return  # the test above
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait(10)
    with pytest.raises(SandboxFault, match="could not attach"), tracing.recorded([gone.pid]):
        pass
