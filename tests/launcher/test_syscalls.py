"""The kernel calls: each does what its manual page says, and a failure carries the call's name."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import resource
import select
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from launcher.forked import forked

from casemate.launcher import syscalls

ALLOW = b"\x06\x00\x00\x00\x00\x00\xff\x7f"  # BPF_RET | BPF_K, SECCOMP_RET_ALLOW
BENEATH = syscalls.RESOLVE_BENEATH | syscalls.RESOLVE_NO_SYMLINKS


@pytest.mark.parametrize(
    ("name", "call", "number"),
    [
        ("unshare", lambda: syscalls.unshare(1), errno.EINVAL),
        ("setns", lambda: syscalls.setns(-1, 0), errno.EBADF),
        ("mount", lambda: syscalls.mount("x", "/nowhere/x", "tmpfs", 0), None),
        ("umount", lambda: syscalls.umount("/nowhere/x"), None),
        ("mount_setattr", lambda: syscalls.mount_setattr("/nowhere/x", 1), None),
        ("pivot_root", lambda: syscalls.pivot_root("/nowhere", "/nowhere"), None),
        ("prctl", lambda: syscalls.prctl(1 << 30), errno.EINVAL),
        ("openat2", lambda: syscalls.openat2(-1, "x", os.O_RDONLY, 0), errno.EBADF),
        ("seccomp", lambda: syscalls.load_seccomp(b"\xff" * 8), errno.EINVAL),
        ("landlock_create_ruleset", lambda: syscalls.landlock_restrict(1, [], tcp=False), None),
    ],
)
def test_a_failure_carries_the_calls_name(name: str, call: Callable[[], object], number: int | None) -> None:
    def attempt() -> object:
        if name == "landlock_create_ruleset":
            syscalls._LANDLOCK_CREATE_RULESET = 1 << 20
        if name == "seccomp":
            syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
        call()
        return "it worked"

    kind, code, text = forked(attempt)
    assert kind == "errno"
    assert re.search(rf"\b{name}\b", text)
    if number is not None:
        assert code == number


def test_unshare_makes_a_namespace() -> None:
    def changed() -> bool:
        before = os.readlink("/proc/self/ns/user")
        syscalls.unshare(syscalls.CLONE_NEWUSER)
        return os.readlink("/proc/self/ns/user") != before

    assert forked(changed) is True


def test_close_range_closes_all_from_a_number_on() -> None:
    def left() -> list[int]:
        for number in (5, 6, 70, 300):
            os.dup2(0, number, inheritable=True)
        syscalls.close_range(6)
        answer = []
        for number in range(512):
            try:
                os.fstat(number)
            except OSError:
                continue
            answer.append(number)
        return answer

    # The answer's own pipe is among the closed, so it is kept below.
    out, into = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(into, 3)
        os.write(3, " ".join(map(str, left())).encode())
        os._exit(0)
    os.close(into)
    with os.fdopen(out) as pipe:
        found = {int(number) for number in pipe.read().split()}
    os.waitpid(pid, 0)
    assert max(found) == 5
    assert {3, 5} <= found


def test_prctl_gives_what_the_kernel_gave() -> None:
    def values() -> list[int]:
        syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)
        return [syscalls.prctl(syscalls.PR_GET_DUMPABLE), syscalls.prctl(syscalls.PR_GET_NO_NEW_PRIVS)]

    assert forked(values) == [0, 0]


def test_dropped_capabilities_are_gone() -> None:
    def left() -> list[str]:
        syscalls.unshare(syscalls.CLONE_NEWUSER)  # which gives every capability over itself
        syscalls.drop_capabilities()
        text = Path("/proc/self/status").read_text()
        return re.findall(r"Cap(?:Inh|Prm|Eff):\s*(\w+)", text)

    assert [int(mask, 16) for mask in forked(left)] == [0, 0, 0]


def test_a_cleared_environment_is_empty_for_c_too() -> None:
    def cleared() -> list[Any]:
        before = "CASEMATE_TEST=1" in syscalls.environ_strings()
        syscalls.clearenv()
        empty = syscalls.environ_strings()
        os.environ["ONE"] = "é"
        return [before, list(empty), list(syscalls.environ_strings())]

    os.environ["CASEMATE_TEST"] = "1"
    assert forked(cleared) == [True, [], ["ONE=é"]]
    del os.environ["CASEMATE_TEST"]


# --- openat2 ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[int]:
    (tmp_path / "job" / "out").mkdir(parents=True)
    (tmp_path / "job" / "out" / "file").write_text("inside")
    (tmp_path / "secret").write_text("outside")
    (tmp_path / "job" / "link").symlink_to("../secret")
    (tmp_path / "job" / "near").symlink_to("out/file")
    (tmp_path / "job" / "way").symlink_to("out")
    fd = os.open(tmp_path / "job", os.O_RDONLY | os.O_DIRECTORY)
    yield fd
    os.close(fd)


def test_openat2_opens_what_is_below(directory: int) -> None:
    fd = syscalls.openat2(directory, "out/file", os.O_RDONLY, BENEATH)
    assert os.read(fd, 99) == b"inside"
    assert not os.get_inheritable(fd)
    os.close(fd)


@pytest.mark.parametrize(
    ("path", "number"),
    [
        ("../secret", errno.EXDEV),
        ("out/../../secret", errno.EXDEV),
        ("/etc/passwd", errno.EXDEV),
        ("/", errno.EXDEV),
        ("link", errno.ELOOP),
        ("near", errno.ELOOP),
        ("way/file", errno.ELOOP),
        ("nothing", errno.ENOENT),
    ],
)
def test_openat2_refuses_what_leads_out_or_through_a_link(directory: int, path: str, number: int) -> None:
    with pytest.raises(OSError, match="openat2") as caught:
        syscalls.openat2(directory, path, os.O_RDONLY, BENEATH)
    assert caught.value.errno == number


def test_openat2_refuses_a_link_out_even_where_links_are_allowed(directory: int) -> None:
    with pytest.raises(OSError, match="openat2") as caught:
        syscalls.openat2(directory, "link", os.O_RDONLY, syscalls.RESOLVE_BENEATH)
    assert caught.value.errno == errno.EXDEV
    os.close(syscalls.openat2(directory, "near", os.O_RDONLY, syscalls.RESOLVE_BENEATH))


def test_openat2_does_not_cut_a_name_at_a_null_byte(directory: int) -> None:
    with pytest.raises(ValueError, match="null byte"):
        syscalls.openat2(directory, "out/file\0.step", os.O_RDONLY, BENEATH)


# --- seccomp and Landlock ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("program", [b"", b"x", ALLOW[:-1], ALLOW + b"x"])
def test_a_program_of_broken_instructions_is_refused(program: bytes) -> None:
    with pytest.raises(ValueError, match="8-byte"):
        syscalls.load_seccomp(program)


def test_a_filter_is_loaded() -> None:
    def mode() -> str:
        syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
        syscalls.load_seccomp(ALLOW)
        return re.findall(r"Seccomp:\s*(\d)", Path("/proc/self/status").read_text())[0]

    assert forked(mode) == "2"


ALLOW_ALL = b"\x06\x00\x00\x00\x00\x00\xff\x7f"
REFUSE_NONE_BUT_400 = bytes.fromhex("2000000000000000") + bytes.fromhex("1500010090010000") + ALLOW_ALL * 2


@pytest.mark.skipif(os.geteuid() != 0, reason="only the host's root may ask for another's filters")
@pytest.mark.parametrize("programs", [[], [ALLOW_ALL], [ALLOW_ALL, REFUSE_NONE_BUT_400]], ids=len)
def test_the_filters_of_another_process_oldest_first(programs: list[bytes]) -> None:
    ready, say = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
            for program in programs:
                syscalls.load_seccomp(program)
            os.write(say, b"x")
            signal.pause()
        finally:
            os._exit(1)
    os.close(say)
    try:
        assert os.read(ready, 1) == b"x"
        seen = syscalls.seccomp_filters(pid)
    finally:
        os.close(ready)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    assert seen[len(seen) - len(programs) :] == programs  # whoever runs this may have filters already


def test_filters_of_nobody() -> None:
    with pytest.raises(ProcessLookupError, match="ptrace"):
        syscalls.seccomp_filters(1 << 22)


def test_landlock_denies_what_no_rule_allows(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open" / "file").write_text("yes")
    (tmp_path / "file").write_text("no")
    abi = syscalls.landlock_abi()
    if abi == 0:
        pytest.skip("no Landlock in this kernel")

    def seen() -> list[object]:
        syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
        syscalls.landlock_restrict(abi, [(str(tmp_path / "open"), 1 << 2)], tcp=False)  # LANDLOCK_ACCESS_FS_READ_FILE
        answer: list[object] = [(tmp_path / "open" / "file").read_text()]
        for attempt in (
            lambda: (tmp_path / "file").read_text(),
            lambda: (tmp_path / "open" / "file").write_text("over"),
            lambda: os.listdir(tmp_path / "open"),
            lambda: socket.create_connection(("127.0.0.1", 9), 1) if abi >= 4 else os.listdir("/"),
        ):
            try:
                answer.append(repr(attempt()))
            except PermissionError:
                answer.append("denied")
        return answer

    assert forked(seen) == ["yes", "denied", "denied", "denied", "denied"]


def test_a_descriptor_of_any_number_is_looked_at() -> None:
    read, write = os.pipe()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2048), hard))
    high = fcntl.fcntl(read, fcntl.F_DUPFD_CLOEXEC, 1500)
    try:
        assert not syscalls.readable(high)
        os.write(write, b"x")
        assert syscalls.readable(high)
        with pytest.raises(ValueError, match="out of range"):
            select.select([high], [], [], 0)  # what it must not be done with
    finally:
        for fd in (read, write, high):
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
