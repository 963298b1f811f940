"""A weakened launcher makes the right probes open, at least one of each family; an honest one is in test_verify."""

from __future__ import annotations

import os

import pytest

from casemate.control.profiles import load_profile
from casemate.launcher import cgroups
from casemate.verify import run
from casemate.verify.canaries import VARIABLE, word
from casemate.verify.guards import Edit, out
from casemate.verify.model import Verdict
from casemate.verify.tables import PROBES, selected

pytestmark = pytest.mark.skipif(bool(cgroups.survey().missing), reason="twins run in the harness only")
# Guards that are taken out together, so that there are few stages → the probes that must be open without them.
TWINS = {
    ("proc-options", "environment", "host-tree", "descriptors", "rlimits", "seccomp", "network"): (
        "proc.kallsyms", "proc.first-cmdline", "proc.others",
        "environment.python", "environment.initial", "environment.memory",
        "files.read-direct", "files.at-write", "files.at-connect", "files.sys-kernel",
        "descriptors.beyond", "descriptors.sockets", "descriptors.control-channel",
        "identity.limit-open", "identity.limit-locked",
        "kernel.unshare", "kernel.ptrace", "kernel.bpf", "kernel.handle-memory-file", "kernel.clone-namespace-user",
        "kernel.i386-entry", "kernel.filter-native", "kernel.fcntl-owner",
        "network.family-netlink", "network.tcp-metadata", "network.udp-public", "network.dns-resolver",
        "network.abstract", "artifacts.link", "memory.pipes", "memory.raised",
    ),
    ("pids", "memory", "disk", "deadline", "output", "collector"): (
        "processes.forks", "processes.threads", "memory.heap", "memory.files", "disk.sparse", "disk.many-directories",
        "time.asleep", "output.blocks", "output.report", "artifacts.too-large", "artifacts.named-outside",
    ),
    # What is taken out for neighbours is also what a later job could find: one tmpfs for all.
    ("neighbours", "recovery"): (
        "neighbours.files", "neighbours.signal-term", "neighbours.abstract", "neighbours.namespace-pid",
        "neighbours.greedy-processes", "tenants.here-shared-memory", "tenants.namespace-net", "recovery.walk",
    ),
    ("kill",): ("processes.left-daemon", "output.daemon"),
}  # fmt: skip
CONTAINED = {"recovery": "neighbours"}
"""Guards that another one has within."""
if os.geteuid() == 0:
    TWINS["guest-uid", "undumpable"] = ("identity.uid", "identity.not-init", "control.dumpable")
CAD = selected((), load_profile("cad"), root=os.geteuid() == 0)


def test_each_family_has_a_twin_here() -> None:
    tried = {name.partition(".")[0] for names in TWINS.values() for name in names}
    assert {probe.family for probe in PROBES} - tried == (set() if os.geteuid() == 0 else {"control"})


@pytest.mark.parametrize("guards", TWINS)
def test_without_the_guard_the_attack_works(guards: tuple[str, ...]) -> None:
    probes = tuple(probe for probe in CAD if probe.id in TWINS[guards])
    assert len(probes) == len(TWINS[guards])
    assert {probe.twin for probe in probes} == set(guards)
    apart = [guard for guard in guards if CONTAINED.get(guard) not in guards]
    found = run.twin_findings(apart, probes, "strongest", {**os.environ, VARIABLE: word()})
    assert {name: finding.evidence for name, finding in found.items() if finding.verdict is not Verdict.OPEN} == {}
    assert set(found) == set(TWINS[guards])


DEAD: dict[str, tuple[str, str, Edit]] = {
    # Guard → a probe that works, one in the same batch that was made to do nothing, and how.
    "host-tree": (
        "files.at-write", "files.at-rename",
        ("verify/tables/files.py", "os.rename(place + '/open', place + '/renamed') or 'renamed'", ""),
    ),
    "neighbours": (
        "neighbours.signal-term", "neighbours.signal-group",
        ("verify/tables/neighbours.py", "first(lambda p: os.killpg(p, 28) or 'sent')", "''"),
    ),
    "kill": (
        "processes.left-forking", "processes.left-spinning",
        ("verify/probes/processes.py", "def left_spinning():\n    left(spin)",
         "def left_spinning():\n    tell(NAME, refused='left')"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("guard", ["host-tree", "neighbours", pytest.param("kill", marks=pytest.mark.long)])
def test_a_dead_probe_is_not_open_because_another_worked(guard: str, monkeypatch: pytest.MonkeyPatch) -> None:
    live, dead, edit = DEAD[guard]
    probes = tuple(probe for probe in PROBES if probe.id in (live, dead) or probe.twin == guard == "kill")
    monkeypatch.setattr(run, "out", lambda *guards, beyond: (*out(*guards, beyond=beyond), edit))
    found = run.twin_findings((guard,), probes, "strongest", {**os.environ, VARIABLE: word()})
    assert found[live].verdict is Verdict.OPEN
    assert found[dead].verdict is not Verdict.OPEN, found[dead].evidence
