"""What each process behind a wall is, seen from outside in the host's /proc while a sandbox waits for its job.

The expectations are written here, and no read-back of the launcher's own is asked. Each twin takes one step out, and
what is seen is then another.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from escape.test_guards import NO_TREE_CHECK, without
from harness import BLIND, confined, weakened

NAMESPACES = ("user", "mnt", "net", "ipc", "uts", "cgroup", "pid")
CAPABILITIES = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
SANDBOX = ("init", "exec", "guest")
NODES = {f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom")}
INERT = {"nosuid", "nodev", "noexec"}
MOUNTS = {
    "/": {"ro", "nosuid", "nodev"},
    "/dev": {"ro", "nosuid", "noexec"},
    "/opt/casemate": {"ro", *INERT},
    "/proc": INERT,
    "/tmp": INERT,
}
LIBRARY = 0b11 << 31
"""Signals 32 and 33 are the C library's (nptl(7))."""
Seen = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def seen() -> Seen:
    """Process (host, keeper, room, template, init, exec, guest) → what its files in /proc say (programs/walls.py)."""
    with confined("walls", "-", "strongest") as running:
        told: Seen = running.finish(60)
    return told


def test_every_process_is_there(seen: Seen) -> None:
    assert set(seen) == {"host", "keeper", "room", "template", *SANDBOX}


def test_namespaces_are_shared_with_nobody_further_out(seen: Seen) -> None:
    """Outer: the room's and the template's; inner: those of init; of an execution: mount and pid."""
    ns = {name: each["ns"] for name, each in seen.items()}
    for kind in NAMESPACES:
        assert len({ns[name][kind] for name in ("host", "room", "init")}) == 3, kind
        assert ns["room"][kind] == ns["template"][kind]
        assert (ns["exec"][kind] == ns["init"][kind]) is (kind not in ("mnt", "pid")), kind
        assert ns["guest"][kind] == ns["exec"][kind], kind


def test_the_guest_has_no_power(seen: Seen) -> None:
    for name in ("exec", "guest"):
        status = seen[name]["status"]
        assert [int(status[kind], 16) for kind in CAPABILITIES] == [0] * 5, name
    for name in SANDBOX:
        assert seen[name]["status"]["NoNewPrivs"] == "1", name
    assert seen["guest"]["status"]["Seccomp"] == "2"
    assert seen["guest"]["status"]["Threads"] == "1"
    assert seen["guest"]["descriptors"] == ["0", "1", "2", "3", "4"]
    assert seen["guest"]["environ"] == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="a user has one uid only")
def test_each_is_somebody_else(seen: Seen) -> None:
    uids = {name: set(seen[name]["status"]["Uid"].split()) for name in seen}
    gids = {name: set(seen[name]["status"]["Gid"].split()) for name in seen}
    for found in (uids, gids):
        assert all(len(each) == 1 for each in found.values())
        assert found["exec"] == found["init"]
        assert len({*found["host"], *found["room"], *found["init"], *found["guest"]}) == 4
    assert all(seen[name]["status"]["Groups"].split() == [] for name in ("room", "template", *SANDBOX))
    for name in SANDBOX:  # nobody inside is anybody of the host's root
        assert all(line.split()[1] not in ("0", *uids["host"]) for line in seen[name]["uid_map"]), name


@pytest.mark.skipif(os.geteuid() != 0, reason="a user has one uid only")
def test_a_user_namespace_belongs_to_whom_it_holds(seen: Seen) -> None:
    """Who made it has every capability in it: no sandbox's may be the room's, or a neighbour's."""
    for name in ("room", "init"):
        assert {seen[name]["user_owner"]} == set(map(int, seen[name]["status"]["Uid"].split())), name


def test_sessions_signals_and_masks_are_as_new(seen: Seen) -> None:
    for name in ("room", *SANDBOX):
        status = seen[name]["status"]
        assert int(status["SigBlk"], 16) & ~LIBRARY == 0, name
        assert status["Umask"] == "0077", name
    sessions = {seen[name]["status"]["NSsid"].split()[0] for name in ("host", "keeper", "room", *SANDBOX)}
    assert len(sessions) == 6
    # The room's first process is an interpreter, with what every interpreter ignores and catches.
    for name in SANDBOX:
        for kind in ("SigCgt", "SigIgn"):
            assert int(seen[name]["status"][kind], 16) & ~LIBRARY == 0, (name, kind)


def test_memory_and_entries_of_init_are_closed(seen: Seen) -> None:
    """What is not dumpable belongs to root of the namespace that owns it, and not to itself (proc(5))."""
    for name in ("init", "exec"):
        assert seen[name]["owner"] != int(seen[name]["status"]["Uid"].split()[0]), name
    assert seen["guest"]["owner"] == int(seen["guest"]["status"]["Uid"].split()[0])


def test_limits_are_those_of_the_profile(seen: Seen) -> None:
    expected = {
        "Max core file size": "0", "Max locked memory": "0", "Max msgqueue size": "0", "Max pending signals": "1024",
        "Max open files": "256", "Max processes": "40", "Max file size": str(128 << 20),
    }  # fmt: skip
    found = seen["guest"]["limits"]
    assert {name: found[name] for name in expected} == {name: [value, value] for name, value in expected.items()}
    for name in ("Max data size", "Max address space", "Max cpu time"):
        assert found[name][0] == found[name][1] != "unlimited", name
    for name in ("room", "template", "init", "exec"):
        assert seen[name]["limits"]["Max core file size"] == ["0", "0"], name


def test_mounts_are_these_and_no_others(seen: Seen) -> None:
    for name in SANDBOX:
        mounts = seen[name]["mounts"]
        assert set(mounts) == MOUNTS.keys() | NODES, name
        for point, flags in MOUNTS.items():
            assert flags <= set(mounts[point]["flags"]), (name, point)
        assert all("nosuid" in mounts[node]["flags"] or node in NODES for node in mounts), name
    guest = seen["guest"]["mounts"]["/proc"]
    assert "ro" in guest["flags"]
    assert {"hidepid=invisible", "subset=pid"} <= set(guest["options"])


def test_a_job_directory_is_its_owners(seen: Seen) -> None:
    assert list(seen["guest"]["below_tmp"].values()) == [0o700]


def test_nothing_is_written_where_the_profile_says_so() -> None:
    with confined("walls", "-", "strict") as running:
        told: Seen = running.finish(60)
    assert "ro" in told["guest"]["mounts"]["/tmp"]["flags"]
    assert "ro" not in told["init"]["mounts"]["/tmp"]["flags"]  # it writes the inputs


def test_a_terminals_mount_is_inert() -> None:
    with confined("walls", "-", "python") as running:
        told: Seen = running.finish(60)
    for name in SANDBOX:
        assert {"nosuid", "noexec"} <= set(told[name]["mounts"]["/dev/pts"]["flags"]), name


def test_mounts_of_a_room(seen: Seen) -> None:
    for name in ("room", "template"):
        mounts = seen[name]["mounts"]
        inner = {f"/run/root{point}" for point in ("", "/dev", "/opt/casemate", *NODES)}
        assert set(mounts) == MOUNTS.keys() | NODES | {"/run"} | inner, name
        for point, flags in (*MOUNTS.items(), ("/run", INERT)):
            assert flags <= set(mounts[point]["flags"]), (name, point)
        for point in ("/run/root", "/run/root/dev", "/run/root/opt/casemate"):
            assert {"ro", "nosuid"} <= set(mounts[point]["flags"]), (name, point)


def test_names_tell_nothing(seen: Seen) -> None:
    assert {name: seen[name]["hostname"] for name in ("room", "template", *SANDBOX)} == {
        "room": "room", "template": "room", "init": "sandbox", "exec": "sandbox", "guest": "sandbox",
    }  # fmt: skip


def test_no_interface_is_up(seen: Seen) -> None:
    for name in ("room", "template", *SANDBOX):
        assert seen[name]["up"] == [], name


def test_each_is_in_a_group_of_its_own(seen: Seen) -> None:
    groups = {name: set(each["cgroups"]) for name, each in seen.items()}
    assert groups["init"] == groups["exec"]
    for one, other in (("host", "room"), ("host", "init"), ("room", "init"), ("init", "guest"), ("room", "guest")):
        assert not groups[one] & groups[other], (one, other)
    assert groups["room"]


# --- twins ------------------------------------------------------------------------------------------------------------

UNSEEN = (
    "launcher/steps.py",
    "            seen = step.verify(site)\n",
    '            seen = "not looked at"\n',
)
TWINS: dict[str, tuple[str, Any]] = {
    "no_new_privs": ("no_new_privs", lambda seen: test_the_guest_has_no_power(seen)),
    "hostname": ("hostname", lambda seen: test_names_tell_nothing(seen)),
    "undumpable": ("undumpable", lambda seen: test_memory_and_entries_of_init_are_closed(seen)),
    "limits": ("limits", lambda seen: test_limits_are_those_of_the_profile(seen)),
    "session": ("session", lambda seen: test_sessions_signals_and_masks_are_as_new(seen)),
}


@pytest.mark.parametrize("name", TWINS)
def test_twin_without_the_step_it_is_seen(name: str, tmp_path: Path) -> None:
    step, test = TWINS[name]
    steps = (step, "seccomp", "landlock") if step == "no_new_privs" else (step,)
    package = weakened(tmp_path, (without(*steps), UNSEEN, BLIND, NO_TREE_CHECK))
    with confined("walls", str(package), "strongest") as running:
        told = running.finish(60)
    with pytest.raises(AssertionError):
        test(told)
