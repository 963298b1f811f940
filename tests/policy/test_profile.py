"""A profile says everything: each missing, unknown, mistyped, zero or contradictory row is refused by its name."""

from __future__ import annotations

import copy
import hashlib
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from casemate.errors import Denied, PolicyError
from casemate.policy import Profile, parse

FILES = sorted((Path(__file__).parents[2] / "profiles").glob("*.toml"))
CAD = (Path(__file__).parents[2] / "profiles" / "cad.toml").read_text("utf-8")
RLIMIT = (Path(__file__).parents[2] / "profiles" / "cad-rlimit.toml").read_text("utf-8")
ROWS: dict[str, Any] = tomllib.loads(CAD)
KEYS = [(table, key) for table, rows in ROWS.items() for key in rows]
NUMBERS = [
    (t, k) for t, k in KEYS if isinstance(ROWS[t][k], int | float) and type(ROWS[t][k]) is not bool and k != "sockets"
]


def written(rows: dict[str, Any]) -> str:
    """TOML of two levels; JSON's scalars and lists are TOML's too."""
    lines = []
    for table, items in rows.items():
        lines.append(f"[{table}]")
        for key, value in items.items():
            inline = "{ x = 1 }" if isinstance(value, dict) else json.dumps(value)
            lines.append(f"{key} = {inline}")
    return "\n".join(lines)


def edited(table: str, key: str, value: object, text: str = CAD) -> str:
    rows = tomllib.loads(text)
    rows[table][key] = value
    return written(rows)


def refusal(text: str) -> str:
    with pytest.raises(PolicyError) as caught:
        parse(text, "mine.toml")
    assert str(caught.value).startswith("mine.toml: ")
    return str(caught.value)


def test_the_profiles_of_the_first_issue_are_shipped() -> None:
    assert {"cad.toml", "cad-minimal.toml", "cad-rlimit.toml"} <= {file.name for file in FILES}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_shipped_profile_loads(file: Path) -> None:
    profile = parse(file.read_text("utf-8"), file.name)
    assert profile.name == file.stem
    # What a test-only switch could say, no shipped profile can.
    assert profile.gate.rules in ("cad", "cad-minimal")
    assert profile.artifacts.inspection == ("claimed" if file.stem == "cad-fast" else "required")
    assert profile.network.egress == "none"
    assert profile.limits.wall_time == 60.0
    assert not profile.needs_cgroups or set(profile.layers.required) >= {"cgroup-memory", "cgroup-pids", "cgroup-cpu"}


def test_a_profile_without_cgroups_names_what_it_does_not_hold() -> None:
    profile = parse(RLIMIT, "cad-rlimit.toml")
    assert not profile.needs_cgroups
    assert len(profile.layers.not_held) >= 3
    assert parse(CAD, "cad.toml").layers.not_held == ()


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
    assert f"{table}.novelty: " in refusal(edited(table, "novelty", 1))


def test_an_unknown_table_is_refused_by_its_name() -> None:
    assert "novelty" in refusal(CAD + "\n[novelty]\nx = 1\n")
    assert "novelty" in refusal("novelty = 1\n" + CAD)


@pytest.mark.parametrize(("table", "key"), KEYS, ids=lambda part: part)
def test_a_row_of_another_type_is_refused(table: str, key: str) -> None:
    was = ROWS[table][key]
    for other in ("text", "5", 5, 5.5, True, [], ["x"], [1], {"x": 1}):
        same = type(other) is type(was) or (isinstance(was, float) and type(other) is int)
        if not same:
            assert f"{table}.{key}" in refusal(edited(table, key, other)), other


@pytest.mark.parametrize(("table", "key"), NUMBERS, ids=lambda part: part)
def test_no_limit_is_zero_or_negative(table: str, key: str) -> None:
    kind = type(ROWS[table][key])
    for value in (kind(0), kind(-1)):
        assert f"{table}.{key}" in refusal(edited(table, key, value))


@pytest.mark.parametrize(("table", "key"), [(t, k) for t, k in NUMBERS if isinstance(ROWS[t][k], float)])
def test_no_limit_is_infinite(table: str, key: str) -> None:
    for value in ("inf", "-inf", "nan"):
        text = CAD.replace(f"{key} = {ROWS[table][key]}", f"{key} = {value}")
        assert text != CAD
        assert f"{table}.{key}" in refusal(text)


@pytest.mark.parametrize(
    ("table", "key", "value"),
    [
        ("gate", "rules", "none"), ("gate", "rules", "off"), ("artifacts", "inspection", "none"),
        ("network", "egress", "all"), ("network", "loopback", "up"), ("filesystem", "exec_writable", True),
        ("filesystem", "writable", ["/"]), ("filesystem", "writable", ["/tmp", "/usr"]), ("filesystem", "writable", []),
        ("filesystem", "start", "host"), ("filesystem", "image", "../cad"), ("filesystem", "image", "/"),
        ("environment", "variables", ["HOME"]), ("secrets", "references", ["key"]), ("devices", "pty", True),
        ("devices", "nodes", ["null", "kvm"]), ("proc", "view", "host"), ("identity", "guest", "root"),
        ("isolation", "walls", ["inner"]), ("isolation", "walls", []), ("isolation", "runtime", "none"),
        ("isolation", "unit", "user"), ("lifecycle", "reuse", "always"), ("preview", "allowed", True),
        ("kernel", "landlock", "off"), ("kernel", "syscalls", "../all"), ("limits", "sockets", 1),
        ("limits", "open_files", 15), ("limits", "source_bytes", 262_145), ("limits", "artifact_count", 101),
        ("limits", "output_overflow", "ignore"), ("layers", "required", ["user-namespaces", "seccomp", "luck"]),
        ("layers", "permitted_degraded", ["seccomp"]), ("layers", "permitted_degraded", ["user-namespaces"]),
        ("profile", "name", "Cad"), ("profile", "name", ""), ("profile", "name", "a/b"),
    ],
)  # fmt: skip
def test_what_this_version_cannot_enforce_is_refused(table: str, key: str, value: object) -> None:
    assert f"{table}.{key}" in refusal(edited(table, key, value))


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
        ("devices", "nodes", ["null", "null", "zero", "full", "random", "urandom"], "devices.nodes"),
    ],
)
def test_a_contradiction_is_refused_and_named(table: str, key: str, value: object, named: str) -> None:
    assert named in refusal(edited(table, key, value))


def test_a_profile_without_cgroups_must_say_what_it_does_not_hold() -> None:
    assert "not_held" in refusal(edited("layers", "not_held", [], RLIMIT))


def test_landlock_may_be_required() -> None:
    rows = copy.deepcopy(ROWS)
    rows["kernel"]["landlock"] = "required"
    rows["layers"]["required"].append("landlock")
    rows["layers"]["permitted_degraded"] = []
    assert parse(written(rows), "x").layers.required[-1] == "landlock"


def test_every_fault_is_told_at_once() -> None:
    rows = copy.deepcopy(ROWS)
    del rows["limits"]["memory"]
    rows["limits"]["cpus"] = 0.0
    rows["novelty"] = {}
    told = refusal(written(rows))
    assert all(name in told for name in ("limits.memory", "limits.cpus", "novelty"))


@pytest.mark.parametrize("text", ["", "[", "x", "[profile]\n[profile]\n", "a = 1\na = 2\n", "\0", "[limits]\nx = 99e"])
def test_what_is_no_toml_is_refused(text: str) -> None:
    refusal(text)


def test_the_digest_is_that_of_the_text() -> None:
    assert parse(CAD, "x").digest == hashlib.sha256(CAD.encode()).hexdigest()
    assert parse(CAD + "\n", "x").digest != parse(CAD, "x").digest
    assert "digest" in refusal(f'digest = "{"0" * 64}"\n{CAD}')


def test_a_profile_cannot_be_changed() -> None:
    profile: Profile = parse(CAD, "x")
    with pytest.raises(ValidationError, match="frozen"):
        profile.limits.memory = 1  # type: ignore[misc]
    with pytest.raises(ValidationError, match="frozen"):
        profile.digest = ""  # type: ignore[misc]
    hash(profile)


def test_a_bad_profile_is_the_callers_fault() -> None:
    assert issubclass(PolicyError, Denied)
