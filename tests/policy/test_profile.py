"""A profile says everything: each missing, unknown, mistyped, zero or contradictory row is refused by its name."""

from __future__ import annotations

import copy
import hashlib
import tomllib
from pathlib import Path
from typing import Any

import pytest
from policy.written import FILES, edited, faults, load, refusal, text_of, written
from pydantic import ValidationError

from casemate.errors import Denied, PolicyError

CAD = text_of("cad")
RLIMIT = text_of("cad-rlimit")
ROWS: dict[str, Any] = tomllib.loads(CAD)
KEYS = [(table, key) for table, rows in ROWS.items() for key in rows]
NUMBERS = [
    (t, k) for t, k in KEYS if isinstance(ROWS[t][k], int | float) and type(ROWS[t][k]) is not bool and k != "sockets"
]


SHIPPED = {"cad", "cad-fast", "cad-minimal", "cad-rlimit", "python", "python-rlimit", "strict"}


def test_what_is_shipped() -> None:
    assert {file.stem for file in FILES} == SHIPPED


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_shipped_profile_loads(file: Path) -> None:
    profile = load(file.read_text("utf-8"))
    assert profile.name == file.stem
    assert profile.network.egress == "none"
    cad = file.stem.startswith("cad")
    assert (profile.gate.rules in ("cad", "cad-minimal")) is cad
    assert profile.artifacts.inspection == ("none" if not cad else "claimed" if file.stem == "cad-fast" else "required")
    assert not profile.needs_cgroups or set(profile.layers.required) >= {"cgroup-memory", "cgroup-pids", "cgroup-cpu"}


@pytest.mark.parametrize("name", ["cad-rlimit", "python-rlimit"])
def test_a_profile_without_cgroups_names_what_it_does_not_hold(name: str) -> None:
    profile = load(text_of(name))
    assert not profile.needs_cgroups
    named = {text.partition(":")[0] for text in profile.layers.not_held}
    assert named == {"limits.memory", "limits.cpu_time", "limits.cpus"}
    assert load(CAD).layers.not_held == ()


@pytest.mark.parametrize(("table", "key"), KEYS, ids=lambda part: part)
def test_a_missing_row_is_refused_by_its_name(table: str, key: str) -> None:
    rows = copy.deepcopy(ROWS)
    del rows[table][key]
    assert f"{table}.{key}: " in refusal(written(rows))


@pytest.mark.parametrize("table", ROWS)
def test_a_missing_table_is_refused_by_its_name(table: str) -> None:
    rows = copy.deepcopy(ROWS)
    del rows[table]
    assert f"{table}: " in refusal(written(rows))


@pytest.mark.parametrize("table", ROWS)
def test_an_unknown_row_is_refused_by_its_name(table: str) -> None:
    assert f"{table}.novelty: " in refusal(edited(f"{table}.novelty", 1))


def test_an_unknown_table_is_refused_by_its_name() -> None:
    assert "novelty" in refusal(CAD + "\n[novelty]\nx = 1\n")
    assert "novelty" in refusal("novelty = 1\n" + CAD)


@pytest.mark.parametrize(("table", "key"), KEYS, ids=lambda part: part)
def test_a_row_of_another_type_is_refused(table: str, key: str) -> None:
    was = ROWS[table][key]
    for other in ("text", "5", 5, 5.5, True, [], ["x"], [1], {"x": 1}):
        same = type(other) is type(was) or (isinstance(was, float) and type(other) is int)
        if not same:
            assert f"{table}.{key}" in refusal(edited(f"{table}.{key}", other)), other


@pytest.mark.parametrize(("table", "key"), NUMBERS, ids=lambda part: part)
def test_no_limit_is_zero_or_negative(table: str, key: str) -> None:
    kind = type(ROWS[table][key])
    for value in (kind(0), kind(-1)):
        assert f"{table}.{key}" in refusal(edited(f"{table}.{key}", value))


@pytest.mark.parametrize(("table", "key"), [(t, k) for t, k in NUMBERS if isinstance(ROWS[t][k], float)])
def test_no_limit_is_infinite(table: str, key: str) -> None:
    for value in ("inf", "-inf", "nan"):
        text = CAD.replace(f"{key} = {ROWS[table][key]}", f"{key} = {value}")
        assert text != CAD
        assert f"{table}.{key}" in refusal(text)


@pytest.mark.parametrize(
    ("table", "key", "value"),
    [
        ("gate", "rules", "off"), ("artifacts", "inspection", "no"), ("network", "egress", "all"),
        ("network", "loopback", "host"), ("filesystem", "writable", ["/"]), ("filesystem", "writable", ["tmp"]),
        ("filesystem", "writable", ["/tmp/../usr"]), ("filesystem", "writable", ["/tmp", "/tmp"]),
        ("filesystem", "start", "host"), ("filesystem", "image", "../cad"), ("filesystem", "image", "/"),
        ("environment", "variables", ["HOME"]), ("environment", "variables", ["A=\n"]),
        ("environment", "variables", ["A=1", "A=2"]), ("secrets", "references", ["a key"]),
        ("devices", "nodes", ["null", "kvm"]), ("proc", "view", "host"), ("identity", "guest", "root"),
        ("isolation", "walls", ["inner"]), ("isolation", "walls", []), ("isolation", "runtime", "none"),
        ("isolation", "unit", "tenant"), ("lifecycle", "reuse", "always"), ("kernel", "landlock", "off"),
        ("kernel", "syscalls", "../all"), ("limits", "open_files", 15), ("limits", "source_bytes", 262_145),
        ("limits", "artifact_count", 101), ("limits", "output_overflow", "ignore"),
        ("layers", "required", ["user-namespaces", "seccomp", "luck"]), ("layers", "permitted_degraded", ["seccomp"]),
        ("layers", "permitted_degraded", ["user-namespaces"]), ("layers", "not_held", ["something"]),
        ("layers", "not_held", ["limits.luck: something"]), ("profile", "name", "Cad"), ("profile", "name", ""),
        ("profile", "name", "a/b"), ("profile", "description", ""), ("stages", "gate", "none"),
    ],
)  # fmt: skip
def test_what_no_row_can_say_is_refused(table: str, key: str, value: object) -> None:
    assert f"{table}.{key}" in refusal(edited(f"{table}.{key}", value))


@pytest.mark.parametrize(
    ("row", "values"),
    [
        ("filesystem.start", ["snapshot"]), ("filesystem.writable", [["/tmp", "/usr"], ["/home"]]),
        ("network.egress", ["broker"]), ("secrets.references", [["key"]]), ("preview.allowed", [True]),
        ("lifecycle.reuse", ["within-unit"]),
    ],
)  # fmt: skip
def test_what_this_version_cannot_enforce_is_refused_when_loaded(row: str, values: list[object]) -> None:
    for value in values:
        text = edited(row, value)
        [fault] = [fault for fault in faults(text) if "is not enforceable by this version" in fault.message]
        assert (fault.row, text.split("\n")[fault.line - 1].split(" = ")[0]) == (row, row.partition(".")[2])
        assert "yet" not in fault.message


@pytest.mark.parametrize(
    ("row", "value", "words"),
    [
        ("limits.memory", 100, "must be at least 67108864"), ("limits.memory", 1.5, "must be a whole number"),
        ("limits.memory", True, "must be a whole number"), ("limits.memory", 1 << 60, "must be at most 1099511627776"),
        ("limits.wall_time", 0, "must be above 0"), ("limits.wall_time", "1", "must be a number"),
        ("limits.cpus", 0.0, "must be at least 0.05"), ("limits.output_overflow", "x", "must be 'cut' or 'kill'"),
        ("isolation.walls", ["outer"], "must have at least 2 items"), ("isolation.walls", "outer", "must be a list"),
        ("profile.name", "A b", "must match ^[a-z]"), ("profile.name", 1, "must be a text"),
        ("profile.description", "", "must not be empty"), ("proc.view", 1, "must be 'pid' or 'masked'"),
        ("devices.pty", "yes", "must be true or false"), ("devices.nodes", ["x"], "must be 'null', 'zero'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_the_words_of_a_profile(row: str, value: object, words: str) -> None:
    [fault] = faults(edited(row, value))
    assert fault.message.startswith(words)


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_a_number_that_is_not_finite_is_said_to_be_none(value: str) -> None:
    text = text_of("cad").replace("wall_time = 60.0", f"wall_time = {value}")
    assert [fault.message for fault in faults(text)] == ["must be a finite number"]


@pytest.mark.parametrize("unit", ["execution", "task", "session", "user"])
def test_a_unit_is_what_may_share_a_sandbox_at_most(unit: str) -> None:
    assert load(edited("isolation.unit", unit)).isolation.unit == unit
    rows = copy.deepcopy(ROWS)
    rows["isolation"]["unit"], rows["lifecycle"]["reuse"] = unit, "within-unit"
    why = "can never take effect" if unit == "execution" else "is not enforceable by this version"
    assert any(fault.row == "lifecycle.reuse" and why in fault.message for fault in faults(written(rows)))


PREVIEW = {
    "allowed": True, "authentication": "signed-link", "scripts": "refused", "origin": "own", "cookies": "refused",
    "lifetime": 60.0, "disposition": "inline",
}  # fmt: skip


def test_a_preview_is_described_wholly_or_not_at_all() -> None:
    rows = copy.deepcopy(ROWS)
    rows["preview"] = dict(PREVIEW)
    assert [fault.row for fault in faults(written(rows))] == ["preview.allowed"]
    for key in PREVIEW.keys() - {"allowed"}:
        rows["preview"] = {**PREVIEW, key: "not-applicable"}
        assert f"preview.{key}: is needed" in refusal(written(rows))
        rows["preview"] = {**ROWS["preview"], key: PREVIEW[key]}
        assert [fault.row for fault in faults(written(rows))] == [f"preview.{key}"]


ALL = ["user-namespaces", "seccomp", "cgroup-memory", "cgroup-pids", "cgroup-cpu"]


@pytest.mark.parametrize(
    ("table", "key", "value", "named"),
    [
        ("layers", "required", [*ALL, "landlock"], "landlock"),
        ("layers", "required", ALL[1:], "user-namespaces"),
        ("layers", "required", [ALL[0], *ALL[2:]], "seccomp"),
        ("layers", "required", ALL[:4], "go together"),
        ("layers", "required", ALL[:2], "neither required nor permitted"),
        ("layers", "permitted_degraded", [], "landlock"),
        ("layers", "permitted_degraded", ["landlock", "cgroup-cpu"], "cgroup"),
        ("kernel", "landlock", "required", "landlock"),
        ("limits", "artifact_bytes", 1 << 30, "artifact_bytes"),
        ("limits", "artifact_total_bytes", 1 << 30, "artifact_total_bytes"),
        ("limits", "file_size", 1 << 30, "file_size"),
        ("limits", "wall_time", 10.0, "wall_time"),
        ("stages", "gate", 61.0, "wall_time"),
        ("stages", "handover", 61.0, "wall_time"),
        ("stages", "step", 61.0, "wall_time"),
        ("stages", "facts", 61.0, "wall_time"),
        ("isolation", "walls", ["outer", "outer"], "isolation.walls"),
        ("lifecycle", "time_to_live", 59.0, "time_to_live"),
        ("devices", "nodes", ["null"], "devices.nodes"),
        ("filesystem", "image", "bad", "filesystem.image: 'bad' does not resolve"),
        ("kernel", "syscalls", "bad", "kernel.syscalls: 'bad' does not resolve"),
        ("filesystem", "exec_writable", True, "filesystem.exec_writable: can never take effect"),
        ("network", "loopback", "up", "network.loopback: can never take effect"),
        ("gate", "rules", "none", "gate.rules: "),
        ("artifacts", "inspection", "none", "gate.rules: "),
        ("limits", "sockets", 10, "limits.sockets: nothing counts sockets"),
        ("limits", "sockets", 256, "limits.sockets: can never take effect: no socket"),
        ("filesystem", "writable", [], "filesystem.writable: a CAD job"),
        ("filesystem", "image", "python", "filesystem.image: a CAD job"),
        ("gate", "rules", "none", "stages.gate: can never take effect"),
        ("artifacts", "inspection", "none", "stages.step: can never take effect"),
        ("artifacts", "inspection", "claimed", "layers.not_held: artifacts.inspection is not named"),
        ("stages", "gate", "not-applicable", "stages.gate: is needed"),
        ("stages", "gate_memory", "not-applicable", "stages.gate_memory: is needed"),
        ("devices", "nodes", ["null", "null", "zero", "full", "random", "urandom"], "devices.nodes"),
    ],
)
def test_a_contradiction_is_refused_and_named(table: str, key: str, value: object, named: str) -> None:
    assert named in refusal(edited(f"{table}.{key}", value))


def test_a_profile_without_cgroups_must_say_what_it_does_not_hold() -> None:
    assert "not_held" in refusal(edited("layers.not_held", [], RLIMIT))


def test_landlock_may_be_required() -> None:
    rows = copy.deepcopy(ROWS)
    rows["kernel"]["landlock"] = "required"
    rows["layers"]["required"].append("landlock")
    rows["layers"]["permitted_degraded"] = []
    assert load(written(rows)).layers.required[-1] == "landlock"


@pytest.mark.parametrize("row", ["limits.memory", "limits.cpu_time", "limits.cpus"])
def test_what_only_a_cgroup_holds_is_named_without_one(row: str) -> None:
    held = [text for text in tomllib.loads(RLIMIT)["layers"]["not_held"] if not text.startswith(f"{row}:")]
    assert f"layers.not_held: {row} is not named" in refusal(edited("layers.not_held", held, RLIMIT))


def test_every_fault_is_told_at_once() -> None:
    rows = copy.deepcopy(ROWS)
    del rows["limits"]["memory"]
    rows["limits"]["cpus"] = 0.0
    rows["novelty"] = {}
    told = refusal(written(rows))
    assert all(name in told for name in ("limits.memory", "limits.cpus", "novelty"))
    lines = [fault.line for fault in faults(written(rows))]
    assert lines == sorted(lines)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1), ("[", 1), ("x", 1), ("\n[profile]\n[profile]\n", 3), ("a = 1\na = 2\n", 2), ("a = 1\n\0", 2),
        ("[limits]\nx = 99e", 2), ("[limits]\nx = [\n1,", 3), (f"x = 1\ny = {'9' * 5000}", 2), ("x = " + "[" * 9000, 1),
        ("\n" * 3000, 1), (f"# {'x' * 70_000}", 1),
    ],
)  # fmt: skip
def test_what_is_no_toml_is_refused(text: str, line: int) -> None:
    assert faults(text)[0].line == line


def test_the_digest_is_that_of_the_text() -> None:
    assert load(CAD).digest == hashlib.sha256(CAD.encode()).hexdigest()
    assert load(CAD + "\n").digest != load(CAD).digest
    assert "digest" in refusal(f'digest = "{"0" * 64}"\n{CAD}')


def test_a_profile_cannot_be_changed() -> None:
    profile = load(CAD)
    with pytest.raises(ValidationError, match="frozen"):
        profile.limits.memory = 1  # type: ignore[misc]
    with pytest.raises(ValidationError, match="frozen"):
        profile.digest = ""  # type: ignore[misc]
    hash(profile)


def test_a_bad_profile_is_the_callers_fault() -> None:
    assert issubclass(PolicyError, Denied)
