"""What rows say together: names that do not resolve, rows that contradict one another or could never take effect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from casemate.policy import rows as boundary
from casemate.policy.rows import Rows

CGROUP = {"cgroup-memory", "cgroup-pids", "cgroup-cpu"}
BY_CGROUP_ALONE = ("limits.memory", "limits.cpu_time", "limits.cpus")
"""What nothing holds as a whole where there are no controllers."""
_DEVICES = ("null", "zero", "full", "random", "urandom")
_NOT = "not-applicable"

Found = Iterator[tuple[str, str]]
"""Row, and what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Names:
    """What names of a profile may resolve to: images, and system call sets with their calls."""

    images: frozenset[str]
    syscalls: Mapping[str, frozenset[str]]


def unresolved(rows: Rows, names: Names) -> Found:
    """Names that are nobody's."""
    for row, known in (("filesystem.image", names.images), ("kernel.syscalls", frozenset(names.syscalls))):
        if rows.value(row) not in known:
            there = ", ".join(sorted(known))
            yield row, f"{rows.value(row)!r} does not resolve; there are {there}"
    calls = names.syscalls.get(rows.kernel.syscalls)
    for row, value, call in (
        ("filesystem.exec_writable", rows.filesystem.exec_writable, "execve"),
        ("limits.sockets", rows.limits.sockets > 0, "socket"),
    ):
        if value and calls is not None and call not in calls:
            yield row, f"can never take effect: no {call} in the set {rows.kernel.syscalls!r}"


def contradictions(rows: Rows) -> Found:
    """Every rule below."""
    for rule in (_layers, _not_held, _walls, _limits, _stages, _shared, _network, _environment, _preview):
        yield from rule(rows)


def _layers(rows: Rows) -> Found:
    required, permitted = set(rows.layers.required), set(rows.layers.permitted_degraded)
    if required & permitted:
        yield "layers.permitted_degraded", f"{', '.join(sorted(required & permitted))} required as well"
    if not {"user-namespaces", "seccomp"} <= required:
        yield "layers.required", "user-namespaces and seccomp cannot be left out"
    for row, given in (("layers.required", required), ("layers.permitted_degraded", permitted)):
        if given & CGROUP not in (set(), CGROUP):
            yield row, "the three cgroup controllers go together"
    if not required & CGROUP and not permitted & CGROUP:
        yield "layers.required", "the cgroup controllers are neither required nor permitted to be missing"
    if (rows.kernel.landlock == "required") != ("landlock" in required):
        yield "kernel.landlock", "disagrees with layers.required"
    if rows.kernel.landlock == "if-available" and "landlock" not in permitted:
        yield "layers.permitted_degraded", "landlock is neither required nor permitted to be missing"


def _not_held(rows: Rows) -> Found:
    named = {text.partition(":")[0] for text in rows.layers.not_held}
    for row in sorted(named.difference(boundary.names())):
        yield "layers.not_held", f"there is no row {row}"
    if not set(rows.layers.required) & CGROUP:
        for row in BY_CGROUP_ALONE:
            if row not in named:
                yield "layers.not_held", f"{row} is not named: rlimits cannot hold it"
    if set(rows.layers.required) >= CGROUP:
        for row in BY_CGROUP_ALONE:
            if row in named:
                yield "layers.not_held", f"{row} is held: the cgroup controllers are required"
    if rows.artifacts.inspection == "claimed" and "artifacts.inspection" not in named:
        yield "layers.not_held", "artifacts.inspection is not named: the script could forge file and facts"


def _walls(rows: Rows) -> Found:
    if set(rows.isolation.walls) != {"outer", "inner"}:
        yield "isolation.walls", "both walls, once each"
    if sorted(rows.devices.nodes) != sorted(_DEVICES):
        yield "devices.nodes", f"a sandbox has {', '.join(_DEVICES)}, no more and no fewer"
    if len(set(rows.filesystem.writable)) != len(rows.filesystem.writable):
        yield "filesystem.writable", "a place twice"
    if rows.filesystem.exec_writable and not rows.filesystem.writable:
        yield "filesystem.exec_writable", "can never take effect: there is no writable place"
    if rows.artifacts.inspection != "none" and not rows.filesystem.writable:
        yield "filesystem.writable", "a CAD job writes its parts"
    if rows.artifacts.inspection != "none" and rows.filesystem.image != "cad":
        yield "filesystem.image", "a CAD job needs the image 'cad': no other has its libraries"


def _limits(rows: Rows) -> Found:
    limits = rows.limits
    if limits.artifact_bytes > limits.artifact_total_bytes:
        yield "limits.artifact_bytes", "can never take effect: it is above artifact_total_bytes"
    if limits.file_size > limits.disk_bytes:
        yield "limits.file_size", "can never take effect: it is above disk_bytes"
    if rows.artifacts.inspection == "none" and limits.artifact_total_bytes > limits.disk_bytes:
        yield "limits.artifact_total_bytes", "can never take effect: it is above disk_bytes"
    if rows.artifacts.inspection != "none" and limits.disk_bytes < disk_for(limits.artifact_total_bytes):
        yield "limits.artifact_total_bytes", "twice that and 1 MiB do not fit into disk_bytes"
    if rows.lifecycle.time_to_live < limits.wall_time:
        yield "lifecycle.time_to_live", "is shorter than limits.wall_time"


def never_met(rows: Rows) -> Found:
    """Limits of a profile that another one is always met before; a caller may tighten that other one all the same."""
    limits = rows.limits
    if limits.cpu_time > limits.wall_time * limits.cpus:
        yield "limits.cpu_time", "can never take effect: wall_time times cpus is less"
    if limits.upload_bytes > limits.disk_bytes:
        yield "limits.upload_bytes", "can never take effect: it is above disk_bytes"
    if "cgroup-memory" in rows.layers.required and limits.disk_bytes > limits.memory:
        yield "limits.disk_bytes", "can never take effect: what is written is memory, and memory is less"
    if limits.processes == 1 and limits.cpus > 1:
        yield "limits.cpus", "can never take effect: one process without threads uses one core"


def disk_for(artifact_total_bytes: int) -> int:
    """What the second sandbox needs: what was handed over, what it writes of that, and its manifest."""
    return 2 * artifact_total_bytes + (1 << 20)


def _stages(rows: Rows) -> Found:
    for names, off, because in (
        (("gate", "gate_memory"), rows.gate.rules == "none", 'gate.rules = "none"'),
        (("handover", "step", "facts"), rows.artifacts.inspection == "none", 'artifacts.inspection = "none"'),
    ):
        for name in names:
            value = rows.value(f"stages.{name}")
            if off and value != _NOT:
                yield f"stages.{name}", f'can never take effect, because of {because}: it is "{_NOT}"'
            elif not off and value == _NOT:
                yield f"stages.{name}", f'is needed: "{_NOT}" goes with {because}'
            elif name != "gate_memory" and isinstance(value, float) and value > rows.limits.wall_time:
                yield f"stages.{name}", "can never take effect: it is above limits.wall_time"


def _shared(rows: Rows) -> Found:
    if rows.isolation.unit == "execution" and rows.lifecycle.reuse != "never":
        yield "lifecycle.reuse", 'can never take effect: isolation.unit = "execution" shares nothing'
    if (rows.artifacts.inspection == "none") != (rows.gate.rules == "none"):
        yield "gate.rules", 'a CAD job has a gate and its parts are inspected; a plain program has neither: both "none"'


def _network(rows: Rows) -> Found:
    if rows.limits.sockets not in (0, rows.limits.open_files):
        yield "limits.sockets", "nothing counts sockets but as open files: 0, or the same as limits.open_files"
    if rows.network.loopback == "up" and not rows.limits.sockets:
        yield "network.loopback", "can never take effect: limits.sockets is 0"


def _environment(rows: Rows) -> Found:
    names = [variable.partition("=")[0] for variable in rows.environment.variables]
    if len(set(names)) != len(names):
        yield "environment.variables", "a variable twice"


def _preview(rows: Rows) -> Found:
    for name, value in rows.preview:
        if name != "allowed" and (value == _NOT) is rows.preview.allowed:
            yield (
                f"preview.{name}",
                f'is needed: preview.allowed is true, "{_NOT}" says nothing' if rows.preview.allowed
                else f'can never take effect, because preview.allowed is false: it is "{_NOT}"',
            )  # fmt: skip
