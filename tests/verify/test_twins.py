"""A weakened launcher makes the right probes open, at least one of each family; an honest one is in test_verify."""

from __future__ import annotations

import os

import pytest

from casemate.launcher import cgroups
from casemate.verify import run
from casemate.verify.canaries import VARIABLE, word
from casemate.verify.model import Verdict
from casemate.verify.tables import PROBES

pytestmark = pytest.mark.skipif(bool(cgroups.survey().missing), reason="twins run in the harness only")
# guard → the probes that must be open without it; one guard for each family, and every witness.
TWINS = {
    "proc-options": ("proc.boot-id", "proc.kallsyms", "proc.first-cmdline", "proc.others"),
    "environment": ("environment.python", "environment.initial", "environment.memory"),
    "host-tree": ("files.read-direct", "files.at-write", "files.at-connect", "files.walk", "files.sys-class-dmi"),
    "descriptors": ("descriptors.beyond", "descriptors.sockets", "descriptors.control-channel"),
    "rlimits": ("identity.limit-open", "identity.limit-locked", "memory.raised"),
    "seccomp": (
        "kernel.unshare", "kernel.ptrace", "kernel.bpf", "kernel.handle-ring", "kernel.handle-memory-file",
        "kernel.clone-namespace-user", "kernel.i386-entry", "kernel.filter-native", "network.family-netlink",
    ),
    "network": ("network.tcp-metadata", "network.udp-public", "network.dns-resolver", "network.abstract"),
    "pids": ("processes.forks", "processes.threads"),
    "kill": ("processes.left-daemon", "processes.left-after-signal", "output.daemon"),
    "memory": ("memory.heap", "memory.children", "memory.files", "memory.pipes"),
    "disk": ("disk.small-files", "disk.sparse", "disk.many-directories"),
    "deadline": ("time.asleep", "time.python"),
    "output": ("output.blocks", "output.report"),
    "neighbours": (
        "neighbours.files", "neighbours.signal-term", "neighbours.abstract", "neighbours.namespace-pid",
        "tenants.shared-memory", "tenants.namespace-net",
    ),
    "recovery": ("recovery.walk", "recovery.job-directories"),
}  # fmt: skip
if os.geteuid() == 0:
    TWINS["guest-uid"] = ("identity.uid", "identity.not-init")


def test_each_family_has_a_twin_here() -> None:
    tried = {name.partition(".")[0] for names in TWINS.values() for name in names}
    assert tried == {probe.family for probe in PROBES}


@pytest.mark.parametrize("guard", TWINS)
def test_without_the_guard_the_attack_works(guard: str) -> None:
    probes = tuple(probe for probe in PROBES if probe.id in TWINS[guard])
    assert len(probes) == len(TWINS[guard])
    assert {probe.twin for probe in probes} == {guard}
    found = run.twin_findings(guard, probes, "strongest", {**os.environ, VARIABLE: word()})
    assert {name: finding.evidence for name, finding in found.items() if finding.verdict is not Verdict.OPEN} == {}
    assert set(found) == set(TWINS[guard])
