"""A read-back raises for each thing that is not as it must be, alone: in forks that lack only that."""

from __future__ import annotations

import os
import resource
import signal
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from launcher.examples import WALLS
from launcher.forked import forked
from launcher.test_syscalls import ALLOW

from casemate.launcher import enclose, lockdown, mount_table, mounts, spec, syscalls
from casemate.launcher.site import Site, StepFailed, namespaces

root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
Body = Callable[[], object]


def told(body: Body) -> str:
    """What a StepFailed said, or "seen"."""

    def tried() -> str:
        try:
            body()
        except StepFailed as error:
            return str(error)
        return "seen"

    found: str = forked(tried)
    return found


def after(first: Body, verify: Callable[[Site], str], site: Site | None = None) -> Body:
    def body() -> None:
        first()
        verify(site or Site())

    return body


def session(more: Body) -> Body:
    def body() -> None:
        lockdown.session(Site())
        more()

    return after(body, lockdown.see_session)


def nothing() -> None:
    """As it is in any process."""


def dumpable(value: int) -> Body:
    return lambda: syscalls.prctl(syscalls.PR_SET_DUMPABLE, value)


def become(uid: int, gid: int, groups: list[int]) -> None:
    os.setgroups(groups)
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)


def only_python(names: str) -> None:
    """Empty what Python shows, and what the C library has, each alone."""
    if "python" in names:
        os.environ._data.clear()  # type: ignore[attr-defined]
    if "c" in names.split():
        syscalls.clearenv()


def mapped(uids: str, gids: str) -> None:
    syscalls.unshare(syscalls.CLONE_NEWUSER)
    for kind, text in (("setgroups", "deny"), ("uid_map", uids), ("gid_map", gids)):
        if text:
            with open(f"/proc/self/{kind}", "w", encoding="ascii") as file:
                file.write(text)


def allow_everything() -> None:
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    syscalls.load_seccomp(ALLOW)


def handled() -> None:
    signal.signal(signal.SIGUSR1, lambda *_: None)


CASES: dict[str, tuple[Body, str]] = {
    "no session": (after(nothing, lockdown.see_session), "not a session leader"),
    "a handler": (session(handled), "SigCgt"),
    "a signal ignored": (session(lambda: signal.signal(signal.SIGUSR1, signal.SIG_IGN)), "SigIgn"),
    "a signal blocked": (session(lambda: signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])), "SigBlk"),
    "another umask": (session(lambda: os.umask(0o022)), "umask"),
    "a limit": (after(lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 1)), lockdown.see_limits), "rlimit"),
    "descriptors": (after(nothing, lockdown.see_descriptors, Site(keep=(0,))), "descriptors"),
    "new privileges": (after(nothing, lockdown.see_no_new_privs), "no_new_privs is off"),
    "dumpable": (after(dumpable(1), lockdown.see_undumpable), "dumpable"),
    "no Landlock": (after(nothing, lockdown.see_landlock, Site(walls=WALLS)), "Landlock does not hold"),
    "no filter": (after(nothing, lockdown.see_seccomp), "seccomp mode is 0"),
    "a filter that allows everything": (after(allow_everything, lockdown.see_seccomp), "netlink"),
    "Python's environment": (after(nothing, lockdown.see_environment, Site(walls=WALLS)), "os.environ"),
    "C's environment": (
        after(lambda: only_python("python"), lockdown.see_environment, Site(walls=replace(WALLS, environment=()))),
        "C library",
    ),
    "the environment of the start": (
        after(lambda: only_python("python c"), lockdown.see_environment, Site(walls=replace(WALLS, environment=()))),
        "/proc/self/environ",
    ),
    "no walls": (after(nothing, lockdown.see_environment), "no walls given"),
    "not the first": (after(nothing, enclose.see_first), "not 1"),
    "another name": (after(nothing, enclose.see_name, Site(hostname="nobody")), "host name not set"),
    "old namespaces": (
        lambda: enclose.see_namespaces(Site(namespaces=syscalls.CLONE_NEWNS, before=namespaces())),
        "still in the old namespace: mnt",
    ),
    "another uid": (after(nothing, enclose.see_become, Site(uid=4711)), "uid or gid not taken"),
}
if os.geteuid() == 0:
    CASES |= {
        "capabilities": (after(nothing, lockdown.see_capabilities), "Cap"),
        "another gid": (after(lambda: become(4711, 4712, []), enclose.see_become, Site(uid=4711)), "uid or gid"),
        "groups": (after(lambda: become(4711, 4711, [4]), enclose.see_become, Site(uid=4711)), "supplementary"),
        "not dumpable": (after(dumpable(0), enclose.see_become), "not dumpable"),
        "the guest's uid": (after(nothing, lockdown.see_guest_identity), "uid"),
        "the guest's gid": (
            after(lambda: become(spec.GUEST_UID, 4711, []), lockdown.see_guest_identity), "the guest's gid",
        ),
        "no map of uids": (lambda: _in_user_namespace("", "0 0 1"), "uid is"),
        "no map of gids": (lambda: _in_user_namespace("0 0 1", ""), "gid is"),
        "the parent's root": (lambda: _in_user_namespace("0 0 1", "0 0 1", uid=4711), "parent's root"),
        "an interface that is down": (
            after(lambda: syscalls.unshare(syscalls.CLONE_NEWNET), enclose.see_loopback, Site(loopback=True)),
            "interfaces",
        ),
    }  # fmt: skip


def _in_user_namespace(uids: str, gids: str, uid: int = -1) -> None:
    before = namespaces()
    mapped(uids, gids)
    enclose.see_user_namespace(Site(before=before, expected_uid=0, uid=uid))


@pytest.mark.parametrize("name", CASES)
def test_what_is_not_as_it_must_be_is_seen(name: str) -> None:
    body, why = CASES[name]
    assert why in told(body)


@root
def test_securebits_that_are_not_locked() -> None:
    def body() -> None:
        lockdown_but_bits()
        lockdown.see_capabilities(Site())

    assert "securebits" in told(body)


def lockdown_but_bits() -> None:
    """All five sets empty, and nothing else."""
    for capability in range(64):
        try:
            syscalls.prctl(syscalls.PR_CAPBSET_DROP, capability)
        except OSError:
            break
    syscalls.drop_capabilities()


@root
def test_a_capability_that_is_left_in_the_bounding_set() -> None:
    assert "CapBnd" in told(after(syscalls.drop_capabilities, lockdown.see_capabilities))


def test_a_kernel_without_landlock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(syscalls, "landlock_abi", lambda: 0)
    with pytest.raises(StepFailed, match="no Landlock"):
        lockdown.landlock(Site(walls=replace(WALLS, landlock=True)))


# --- the mount table --------------------------------------------------------------------------------------------------

SAFE = {"ro", "nosuid", "nodev", "noexec"}
TREE = mount_table.execution(replace(WALLS, masked=False, pty=False))


def right() -> dict[str, tuple[str, set[str], set[str]]]:
    """A mount table that is as it must be."""
    return {point: (kind, set(SAFE), set(mounts.PROC)) for point, kind in TREE.points.items()}


def changed(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    table = right()
    change(table)
    return table


DEVIATIONS: dict[str, tuple[dict[str, Any], str]] = {
    "one too many": (changed(lambda t: t.update({"/mnt": ("ext4", set(SAFE), set())})), "/mnt.*unexpected"),
    "one too few": (changed(lambda t: t.pop("/proc")), "/proc.*missing"),
    "another kind": (changed(lambda t: t.update({"/tmp": ("ext4", set(SAFE), set())})), "ext4 is mounted"),
    "set-id": (changed(lambda t: t["/tmp"][1].remove("nosuid")), "/tmp: not nosuid"),
    "devices": (changed(lambda t: t["/tmp"][1].remove("nodev")), "/tmp: not nodev"),
    "programs": (changed(lambda t: t["/proc"][1].remove("noexec")), "/proc: not noexec"),
    "an option": (changed(lambda t: t["/proc"][2].remove("subset=pid")), "/proc: not subset=pid"),
    "writable": (changed(lambda t: t["/"][1].remove("ro")), "/: writable"),
}


def test_a_mount_table_that_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mount_table, "_mounted", right)
    assert mount_table.verify(TREE)


@pytest.mark.parametrize("name", DEVIATIONS)
def test_a_mount_table_that_is_not(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table, why = DEVIATIONS[name]
    monkeypatch.setattr(mount_table, "_mounted", lambda: table)
    with pytest.raises(OSError, match=why):
        mount_table.verify(TREE)


def test_a_device_that_is_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mount_table, "_mounted", right)
    monkeypatch.setattr(mount_table, "_NODES", ("/etc/passwd",))
    with pytest.raises(OSError, match="not a device"):
        mount_table.verify(TREE)


@pytest.mark.parametrize("path", ["/proc/version", "/proc/fs", "/usr"])
def test_a_file_of_the_kernel_that_is_not_masked(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mount_table, "_mounted", right)
    monkeypatch.setattr(mounts, "beside_processes", lambda: ("/dev/null", path))
    with pytest.raises(OSError, match="not masked"):
        mount_table.verify(replace(TREE, masked=True))


def test_a_socket_that_the_filter_lets_through_is_netlink() -> None:
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW).close()  # without a filter there is one: the read-back means it


# --- the sandbox's own tmpfs ------------------------------------------------------------------------------------------


@root
@pytest.mark.parametrize(
    ("options", "refused"),
    [
        ("", ""),
        (f"size={2 * WALLS.disk_bytes},nr_inodes={WALLS.inodes},mode=0755", "no bound"),
        (f"size={WALLS.disk_bytes},nr_inodes={WALLS.inodes + 1},mode=0755", "no bound"),
        (f"size={WALLS.disk_bytes},nr_inodes=0,mode=0755", "no bound"),  # 0: as many as you like (tmpfs(5))
    ],
    ids=["as it must be", "more bytes", "more inodes", "inodes without end"],
)
def test_a_writable_place_without_its_bounds_is_refused(options: str, refused: str, tmp_path: Path) -> None:
    """What is mounted is asked how large it is (statvfs(3)), whatever was asked for."""

    def body() -> str:
        syscalls.unshare(syscalls.CLONE_NEWNS)
        syscalls.mount("none", "/", None, syscalls.MS_REC | syscalls.MS_PRIVATE)
        for name in ("proc", "run", "tmp", "dev"):
            (tmp_path / name).mkdir()
        syscalls.mount(str(tmp_path), str(tmp_path), None, syscalls.MS_BIND)
        mounts.PREPARED = str(tmp_path)
        if options:
            real = mounts._tmpfs
            mounts._tmpfs = lambda place, _, *flags: real(place, options, *flags)
        try:
            os.close(mounts.build_sandbox(replace(WALLS, pty=False), "/tmp/job", (0, 0)))
        except OSError as error:
            return str(error)
        return oct(os.stat("/tmp/job").st_mode)

    told = forked(body)
    assert told.endswith(refused) if refused else told == "0o40700"
