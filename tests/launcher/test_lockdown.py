"""Each act of the steps that take power away, alone: in a process that has the opposite of what it should."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import shutil
import signal
import socket
import tempfile
from collections.abc import Callable
from dataclasses import replace

import pytest
from launcher.examples import WALLS
from launcher.forked import forked

from casemate.launcher import enclose, lockdown, syscalls
from casemate.launcher.site import Site

root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to have something to give up")
GUEST = 1000
"""The guest's uid and gid inside (launcher/messages.py)."""
LIBRARY = 0b11 << 31
"""Signals 32 and 33 are the C library's (nptl(7))."""


def status(name: str) -> str:
    with open("/proc/self/status", encoding="ascii") as file:
        return next(line.split(":")[1].strip() for line in file if line.startswith(f"{name}:"))


def test_a_session_of_its_own_with_everything_at_its_default() -> None:
    def body() -> list[object]:
        os.umask(0)
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        signal.signal(signal.SIGUSR2, lambda *_: None)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGXCPU])
        lockdown.session(Site())
        kinds = [int(status(name), 16) & ~LIBRARY for name in ("SigIgn", "SigCgt", "SigBlk")]
        return [status("Umask"), *kinds, os.getsid(0) == os.getpid()]

    assert forked(body) == ["0077", 0, 0, 0, True]


def test_every_limit_is_the_profiles() -> None:
    walls = replace(WALLS, open_files=100, file_size=1 << 20, cpu_seconds=7, processes=9)
    expected = {
        "CORE": 0, "NOFILE": 100, "FSIZE": 1 << 20, "CPU": 7, "NPROC": 9, "DATA": 1 << 34, "AS": 1 << 35, "MEMLOCK": 0,
        "MSGQUEUE": 0, "SIGPENDING": 1024,
    }  # fmt: skip

    def body() -> dict[str, list[int]]:
        lockdown.limit(Site(walls=walls, data=1 << 34, address_space=1 << 35))
        return {name: list(resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))) for name in expected}

    assert forked(body) == {name: [value, value] for name, value in expected.items()}


def test_what_has_no_profile_leaves_no_core() -> None:
    def body() -> list[int]:
        lockdown.limit(Site())
        return list(resource.getrlimit(resource.RLIMIT_CORE))

    assert forked(body) == [0, 0]


@root
def test_the_guest_is_nobody_else() -> None:
    def body() -> list[object]:
        os.setgroups([5, 6])
        lockdown.guest_identity(Site(uid=0))
        return [os.getresuid(), os.getresgid(), os.getgroups(), syscalls.prctl(syscalls.PR_GET_DUMPABLE)]

    assert forked(body) == [[GUEST] * 3, [GUEST] * 3, [], 1]


@root
def test_no_capability_is_left_and_none_comes_back() -> None:
    """Securebits (capabilities(7)): NOROOT, NO_SETUID_FIXUP, NO_CAP_AMBIENT_RAISE; KEEP_CAPS off; all locked."""

    def body() -> list[object]:
        lockdown.capabilities(Site())
        sets = [int(status(name), 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")]
        return [*sets, syscalls.prctl(syscalls.PR_GET_SECUREBITS)]

    assert forked(body) == [0, 0, 0, 0, 0, 0x01 | 0x02 | 0x04 | 0x08 | 0x20 | 0x40 | 0x80]


def test_the_environment_is_the_profiles_in_the_interpreter_and_in_the_c_library() -> None:
    def body() -> list[object]:
        os.environ["CANARY"] = "there"
        lockdown.environment(Site(walls=replace(WALLS, environment=("A=1", "B=x=y"))))
        return [dict(os.environ), sorted(syscalls.environ_strings())]

    assert forked(body) == [{"A": "1", "B": "x=y"}, ["A=1", "B=x=y"]]


@root
def test_a_room_becomes_its_own_uid_without_groups() -> None:
    def body() -> list[object]:
        os.setgroups([5, 6])
        enclose.become(Site(uid=4711))
        return [os.getresuid(), os.getresgid(), os.getgroups(), syscalls.prctl(syscalls.PR_GET_DUMPABLE)]

    assert forked(body) == [[4711] * 3, [4711] * 3, [], 1]


# --- Landlock, without the filter that says no before it --------------------------------------------------------------


def answer(deed: Callable[[], object]) -> str:
    try:
        deed()
    except PermissionError:
        return "refused"
    except OSError as error:
        if error.errno != errno.EROFS:  # where all is read-only anyway
            raise
        return "refused"
    return "done"


def executed(program: str) -> None:
    os.waitpid(os.posix_spawn(program, [program], {}), 0)


def connected(port: int) -> None:
    with contextlib.suppress(ConnectionRefusedError), socket.socket() as client:
        client.connect(("127.0.0.1", port))


NOTHING = {"exec_image": False, "exec_writable": False, "sockets": False, "writable": False, "loopback": False}
HELD = dict.fromkeys(("/", "/usr", "image", "written", "fifo", "write", "tcp"), "refused")


@pytest.mark.skipif(syscalls.landlock_abi() < 4, reason="this kernel's Landlock has no TCP")
@pytest.mark.parametrize(
    ("given", "opens"),
    [
        ((), ()),
        (("exec_image",), ("image",)),
        (("writable",), ("write",)),
        (("exec_image", "writable"), ("image", "write")),
        (("exec_image", "writable", "exec_writable"), ("image", "write", "written")),  # the loader is the image's
        (("writable", "sockets"), ("write", "fifo")),
        (("loopback",), ("tcp",)),
    ],
    ids="-".join,
)
def test_landlock_gives_what_the_profile_does_and_no_more(given: tuple[str, ...], opens: tuple[str, ...]) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as place:
        written = shutil.copy("/usr/bin/true", place)

        def body() -> dict[str, str]:
            syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
            lockdown.landlock(Site(walls=replace(WALLS, **{**NOTHING, **dict.fromkeys(given, True)})))
            return {
                "/": answer(lambda: os.listdir("/")),
                "/usr": answer(lambda: os.close(os.open("/usr/share", os.O_TMPFILE | os.O_WRONLY))),
                "image": answer(lambda: executed("/usr/bin/true")),
                "written": answer(lambda: executed(written)),
                "fifo": answer(lambda: os.mkfifo(f"{place}/fifo")),
                "write": answer(lambda: os.mkdir(f"{place}/made")),
                "tcp": answer(lambda: connected(9)),
            }

        assert forked(body) == {**HELD, **dict.fromkeys(opens, "done")}


@pytest.mark.skipif(syscalls.landlock_abi() < 6, reason="this kernel's Landlock has no scopes")
@pytest.mark.parametrize("restricted", [True, False], ids=["held", "twin without it"])
def test_nobody_outside_is_signalled_or_reached_by_an_abstract_name(restricted: bool) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("")  # the kernel finds an abstract name (unix(7))
        listener.listen()
        name = listener.getsockname()

        def body() -> list[str]:
            syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
            if restricted:
                lockdown.landlock(Site(walls=WALLS))
            with socket.socket(socket.AF_UNIX) as client:
                return [answer(lambda: os.kill(os.getppid(), 0)), answer(lambda: client.connect(name))]

        assert forked(body) == ["refused" if restricted else "done"] * 2
