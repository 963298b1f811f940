"""The tables are whole: enough probes in each family, and every name in them leads somewhere."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

import casemate
from casemate.control.profiles import load_profile
from casemate.errors import PolicyError
from casemate.launcher import syscalls
from casemate.runtime import seccomp
from casemate.verify import guards, judge, properties, source
from casemate.verify.batches import BATCHES
from casemate.verify.harness import BLIND, weakened
from casemate.verify.model import VM
from casemate.verify.tables import MINIMUM, PROBES, kernel, selected

PACKAGE = Path(casemate.__file__).parent
# What the suite must try, worked out by hand from what a boundary is made of.
FAMILIES = {
    "proc": 60, "environment": 10, "files": 70, "descriptors": 10, "identity": 30, "kernel": 100, "network": 55,
    "processes": 20, "memory": 16, "disk": 14, "time": 10, "output": 14, "artifacts": 9, "control": 8,
    "neighbours": 28, "tenants": 30, "recovery": 10,
}  # fmt: skip
CAD = load_profile("cad")


def test_each_family_says_its_minimum() -> None:
    assert MINIMUM == FAMILIES


@pytest.mark.parametrize("root", [True, False], ids=["root", "user"])
def test_each_family_has_its_minimum(root: bool) -> None:
    found = Counter(probe.family for probe in selected((), CAD, root=root))
    assert set(found) == set(FAMILIES)
    short = {name: count for name, count in found.items() if count < FAMILIES[name] - (0 if root else 6)}
    assert short == {}
    assert sum(found.values()) >= 250


def test_no_two_probes_have_one_id() -> None:
    assert [name for name, count in Counter(probe.id for probe in PROBES).items() if count > 1] == []


def test_every_name_in_a_probe_leads_somewhere() -> None:
    rows = {row.property for row in properties.BOUNDARY}
    astray = [
        probe.id
        for probe in PROBES
        if probe.batch not in BATCHES
        or probe.witness not in judge.WITNESSES
        or probe.twin not in (VM, *guards.GUARDS)
        or probe.row not in rows
    ]
    assert astray == []
    for probe in PROBES:
        ast.parse(probe.code)


def test_only_what_is_host_wide_has_its_twin_in_a_machine_of_its_own() -> None:
    # Setting clocks and names, syncing, rebooting, writing sysctls, a sweep over all calls; a page the kernel may map.
    elsewhere = {probe.id for probe in PROBES if probe.twin == VM}
    assert {name for name in elsewhere if not name.startswith("proc.write-")} == {
        "kernel.reboot", "kernel.clock-settime", "kernel.settimeofday", "kernel.adjtimex", "kernel.clock-adjtime",
        "kernel.sethostname", "kernel.setdomainname", "kernel.vhangup", "kernel.sync", "kernel.syncfs", "kernel.sweep",
        "kernel.vsyscall",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("wanted", "beyond"),
    [*(((name,), True) for name in guards.GUARDS), *((wanted, False) for wanted in guards.IN_VM.values())],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else "",
)
def test_the_edits_of_guards_match_once_together(wanted: tuple[str, ...], beyond: bool, tmp_path: Path) -> None:
    weakened(tmp_path, (*guards.out(*wanted, beyond=beyond), BLIND))


def test_each_family_with_a_twin_in_a_machine_of_its_own_says_what_is_taken_out_there() -> None:
    assert {probe.family for probe in PROBES if probe.twin == VM} == set(guards.IN_VM)


@pytest.mark.parametrize("name", guards.GUARDS)
def test_the_edits_of_a_guard_match_once(name: str) -> None:
    texts: dict[str, str] = {}
    for file, old, new in guards.GUARDS[name]:
        text = texts.get(file) or (PACKAGE / file).read_text("utf-8")
        assert text.count(old) == 1, f"{file}: {old!r}"
        texts[file] = text.replace(old, new)
        assert texts[file] != text
        ast.parse(texts[file])


def test_every_guard_is_the_twin_of_something() -> None:
    under = [selected((), load_profile(name), root=True) for name in ("cad", "strict")]
    assert set(guards.GUARDS) == {probe.twin for probes in (PROBES, *under) for probe in probes} - {VM}


# What `python` means to allow, worked out by hand from its rows and its set.
ALLOWED = {
    "kernel.accept4", "kernel.bind", "kernel.connect", "kernel.execve", "kernel.fcntl-lock", "kernel.fcntl-open-lock",
    "kernel.flock", "kernel.link", "kernel.linkat", "kernel.listen", "kernel.map-writable-code", "kernel.setpgid",
    "kernel.setsid", "kernel.setsockopt", "kernel.symlink", "kernel.symlinkat", "kernel.timer-create",
    "network.family-unix",
    "files.execute-image", "files.execute-loader", "files.execute-written", "files.map-executable",
    "files.node-tty", "files.node-ptmx", "files.node-pts-ptmx", "artifacts.named-outside",
    "descriptors.take-terminal",
    *(f"proc.{name}" for name in ("cpuinfo", "filesystems", "loadavg", "meminfo", "stat", "uptime", "version", "vmstat",
      "sys-fs-file-nr", "sys-kernel-core-pattern", "sys-kernel-hostname", "sys-kernel-osrelease",
      "sys-kernel-random-boot-id", "sys-kernel-randomize-va-space", "sys-vm-overcommit-memory")),
}  # fmt: skip


def test_what_a_general_profile_allows_is_left_out_and_nothing_else() -> None:
    every = {probe.id for probe in PROBES}
    assert every - {probe.id for probe in selected((), load_profile("python"), root=True)} == ALLOWED
    # Its files are not named; of all else it allows no more than cad.
    assert every - {probe.id for probe in selected((), load_profile("strict"), root=True)} == {
        "artifacts.named-outside", "time.blocked",
    }  # fmt: skip


def test_nothing_is_left_out_under_cad_but_what_a_user_other_than_root_cannot_have() -> None:
    every = {probe.id for probe in selected((), CAD, root=True)}
    assert every == {probe.id for probe in PROBES}
    assert every - {probe.id for probe in selected((), CAD, root=False)} == {
        "identity.uid", "identity.gid", "identity.groups", "identity.not-init", "identity.become-root",
        "identity.root-map", "neighbours.uid", "tenants.here-uid", "control.dumpable", "control.environment",
        "control.command-line",
    }  # fmt: skip


def test_a_road_that_the_set_closes_is_to_be_refused_and_its_twin_is_the_sets() -> None:
    probes = {probe.id: probe for probe in selected((), CAD, root=True)}
    closed = {name for name, probe in probes.items() if probe.code.startswith("closed_road(")}
    assert closed == {
        "memory.fallocate", "memory.pipes", "memory.pairs", "disk.allocated", "disk.copied", "artifacts.link",
        "artifacts.link-to-environment", "artifacts.link-above", "artifacts.second-name", "artifacts.fifo",
    }  # fmt: skip
    assert {name: probes[name].twin for name in closed if probes[name].twin != "seccomp"} == {
        "artifacts.fifo": "execution"  # Landlock lets nobody make one either
    }
    assert all(probes[name].expect.startswith("exited; refused EPERM") for name in closed)
    python = CAD.model_copy(update={"kernel": CAD.kernel.model_copy(update={"syscalls": "python"})})
    assert not any(probe.code.startswith("closed_road(") for probe in selected((), python, root=True))
    of_strict = selected((), load_profile("strict"), root=True)
    strict = {probe.id for probe in of_strict if probe.code.startswith("closed_road(")}
    assert {"processes.forks", "disk.sparse", "memory.threads", "time.asleep"} <= strict
    assert not {"memory.heap", "time.python", "output.blocks"} & strict


def test_selection_by_id_and_by_family() -> None:
    assert [p.id for p in selected(["kernel.mount"], CAD, root=True)] == ["kernel.mount"]
    assert {p.family for p in selected(["disk", "time"], CAD, root=True)} == {"disk", "time"}
    with pytest.raises(PolicyError, match="no such probe or family: nonsense"):
        selected(["nonsense", "disk"], CAD, root=True)


@pytest.mark.parametrize(("abi", "root", "there"), [(5, False, False), (6, False, True), (0, True, True)])
def test_who_has_one_uid_and_no_scopes_can_signal_what_is_above(
    abi: int, root: bool, there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(syscalls, "landlock_abi", lambda: abi)
    assert ("proc.signal-above" in {probe.id for probe in selected((), CAD, root=root)}) is there


def test_the_effect_free_ones_exhaust_nothing_and_touch_nobody() -> None:
    found = selected(["effect-free"], CAD, root=True)
    assert len(found) > 400
    exhausting = {"processes", "memory", "disk", "time", "output", "artifacts", "neighbours", "tenants", "recovery"}
    assert {probe.family for probe in found} == set(FAMILIES) - exhausting
    assert not any(probe.limits or probe.declared for probe in found)


def test_no_call_of_the_table_is_in_the_set_of_the_cad_profiles() -> None:
    narrowed = {"clone", "ioctl", "prlimit64", "fcntl", "mmap", "mprotect", "exit", "exit_group", "rt_sigreturn"}
    assert set(kernel.NAMED) & set(seccomp.load("cad").calls) == narrowed


def test_an_answer_needs_its_random_word() -> None:
    made = source.assemble(PROBES[:2], (), {})
    first, second = (probe.id for probe in PROBES[:2])
    right = f'{{"probe": "{first}", "nonce": "{made.nonces[first]}", "refused": "EPERM"}}'
    forged = f'{{"probe": "{second}", "nonce": "{made.nonces[first]}", "refused": "EPERM"}}'
    found = source.answers(f"noise\n{right}\n{forged}\n[1]\n{right.replace('EPERM', 'late')}\n", made.nonces)
    assert found == {first: {"probe": first, "nonce": made.nonces[first], "refused": "EPERM"}}
