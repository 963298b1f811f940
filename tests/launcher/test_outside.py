"""The keeper's look from outside, at processes that lack one thing each."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from launcher.forked import forked
from launcher.test_readbacks import lockdown_but_bits
from launcher.test_syscalls import ALLOW

from casemate.launcher import outside, syscalls

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to have something to give up")
UID = 4711
ALL = (
    syscalls.CLONE_NEWUSER | syscalls.CLONE_NEWNS | syscalls.CLONE_NEWNET | syscalls.CLONE_NEWIPC
    | syscalls.CLONE_NEWUTS | syscalls.CLONE_NEWCGROUP
)  # fmt: skip


@contextlib.contextmanager
def process(*acts: Callable[[], object]) -> Iterator[int]:
    """A process that has done these things and waits; first of a pid namespace of its own if it made others."""
    ready, say = os.pipe()
    go, end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(end)
        try:
            for act in acts:
                act()
            os.write(say, b"r")
            os.read(go, 1)
        finally:
            os._exit(0)
    os.close(say)
    os.close(go)
    try:
        assert os.read(ready, 1) == b"r"
        yield pid
    finally:
        os.close(end)
        os.close(ready)
        os.waitpid(pid, 0)


def separate() -> None:
    syscalls.unshare(ALL)


def uid() -> None:
    os.setgroups([])
    os.setresgid(UID, UID, UID)
    os.setresuid(UID, UID, UID)


def filtered() -> None:
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    syscalls.load_seccomp(ALLOW)


def no_new_privs() -> None:
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)


def thread() -> None:
    threading.Thread(target=threading.Event().wait, daemon=True).start()


POWERLESS = lockdown_but_bits


@pytest.mark.parametrize(
    ("acts", "uids", "why"),
    [
        ((), 0, "Cap"),
        ((POWERLESS,), 0, "no_new_privs or seccomp"),
        ((no_new_privs, POWERLESS), 0, "no_new_privs or seccomp"),
        ((filtered, POWERLESS), UID, "its uid is 0"),
        ((filtered, POWERLESS, thread), 0, "2 threads"),
        ((filtered, POWERLESS), 0, "shares .* with the host"),
    ],
    ids=["capabilities", "privileges", "filter", "uid", "threads", "namespaces"],
)
def test_what_a_guest_must_not_be(acts: tuple[Callable[[], object], ...], uids: int, why: str) -> None:
    with process(*acts) as pid, pytest.raises(outside.Unlike, match=why):
        outside.examine(pid, None, uids, set())


def test_namespaces_of_another_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    with process(separate, POWERLESS, filtered) as pid:
        theirs = outside.namespaces(pid)
        pids = {name for name in theirs if name.startswith("pid:")}
        host = outside.namespaces(os.getpid())
        # Only the first process of a pid namespace has another one: of the host's, that one alone is left out here.
        monkeypatch.setattr(outside, "namespaces", lambda one: theirs if one == pid else host - pids)
        seen = int(outside_uid(pid))
        assert outside.examine(pid, None, seen, set())[1] == theirs
        with pytest.raises(outside.Unlike, match="with a room or another sandbox"):
            outside.examine(pid, None, seen, {next(iter(theirs - host))})


def test_a_filter_that_it_has_from_its_template() -> None:
    def body() -> str:
        filtered()
        with process(POWERLESS) as pid:
            return told(lambda: outside.examine(pid, None, 0, set()))

    assert forked(body) == "it has no filter that its template has not"


@pytest.mark.parametrize(
    ("found", "right"),
    [
        ({"exec-1": [{1}, {1}], "init": [{2, 3}, {2, 3}]}, True),
        ({"exec-1": [{1}, {1, 4}], "init": [{2, 3}, {2, 3}]}, False),
        ({"exec-1": [{1}, set()], "init": [{2, 3}, {1, 2, 3}]}, False),
        ({"exec-1": [{1}, {1}], "init": [{2, 3}, {2}]}, False),
    ],
    ids=["alone", "another beside", "with init", "init is elsewhere"],
)
def test_the_cgroups_that_it_must_be_in(
    found: dict[str, list[set[int]]], right: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with process(POWERLESS, filtered) as pid:
        places = {name: [{pid if one == 1 else -one for one in each} for each in sets] for name, sets in found.items()}
        group: Any = SimpleNamespace(processes=lambda: places)
        # Nothing else is wrong with it.
        monkeypatch.setattr(outside, "namespaces", lambda one: {"its own" if one == pid else "ours"})
        answer = told(lambda: outside.examine(pid, group, 0, set()))
    assert answer == "" if right else answer.startswith("is not in its cgroup")


# --- a room that a runtime made ---------------------------------------------------------------------------------------


def another_gid() -> None:
    os.setgroups([])
    os.setresgid(UID + 1, UID + 1, UID + 1)
    os.setresuid(UID, UID, UID)


def a_group_more() -> None:
    os.setgroups([UID + 1])
    os.setresgid(UID, UID, UID)
    os.setresuid(UID, UID, UID)


ROOM = (uid, separate, filtered)


@pytest.mark.parametrize(
    ("acts", "what", "why"),
    [
        (ROOM, "", ""),
        ((filtered,), "", "its uid, gid and groups are 0, 0"),
        ((another_gid, separate, filtered), "", f"its uid, gid and groups are {UID}, {UID + 1}"),
        ((a_group_more, separate, filtered), "", f"its uid, gid and groups are {UID}, {UID}, ['{UID + 1}']"),
        (ROOM, "no pid namespace", "it is not the first process"),
        ((uid, separate), "", "no_new_privs or seccomp is off"),
        ((uid, separate, no_new_privs), "", "no_new_privs or seccomp is off"),
        ((uid, filtered), "", "shares "),
        (ROOM, "another monitor", "it is no descendant"),
        (ROOM, "another cgroup", "is not in "),
    ],
    ids=["right", "uid", "gid", "groups", "pid", "privileges", "filter", "namespaces", "monitor", "cgroup"],
)
def test_what_the_first_process_of_a_room_must_be(
    acts: tuple[Callable[[], object], ...], what: str, why: str, tmp_path: Path
) -> None:
    def body() -> str:
        if what != "no pid namespace":
            syscalls.unshare(syscalls.CLONE_NEWPID)
        with process(*acts) as pid:
            (tmp_path / "cgroup.procs").write_text(f"{os.getpid() if what == 'another cgroup' else pid}\n")
            group: Any = SimpleNamespace(directories=lambda: [str(tmp_path)])
            monitor = os.getppid() if what != "another monitor" else pid + 1
            return told(lambda: outside.examine_room(pid, monitor, group, (UID, 1)))

    answer = forked(body)
    assert answer.startswith(why)
    assert bool(answer) is bool(why)


def told(look: Callable[[], object]) -> str:
    """What a look says is wrong, or nothing."""
    try:
        look()
    except outside.Unlike as unlike:
        return str(unlike)
    return ""


def outside_uid(pid: int) -> str:
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(line.split()[1] for line in file if line.startswith("Uid:"))


# --- descriptors that a sandbox sends ---------------------------------------------------------------------------------


def test_pidfds_of_the_very_sender_and_its_parent_stand() -> None:
    with process() as pid:
        ours, theirs, place = os.pidfd_open(os.getpid()), os.pidfd_open(pid), os.open("/", os.O_RDONLY)
        try:
            outside.stands((ours, theirs), place, pid)
            for wrong in ((theirs, theirs), (ours, ours), (theirs, ours)):
                with pytest.raises(outside.Unlike, match="other processes"):
                    outside.stands(wrong, place, pid)
            with pytest.raises(outside.Unlike, match="no pidfd"):
                outside.stands((ours, place), place, pid)
            with pytest.raises(outside.Unlike, match="job directory"):
                outside.stands((ours, theirs), theirs, pid)
        finally:
            for fd in (ours, theirs, place):
                os.close(fd)
