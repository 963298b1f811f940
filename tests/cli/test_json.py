"""`--json`: one document on standard output and nothing else, valid against the schema, whatever happened."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from cli.command import BOX, DENIED, FAILING, TWO, casemate, document, inside
from runtimes import profile_under


def script(directory: Path, text: str, name: str = "box.py") -> Path:
    path = directory / name
    path.write_text(text, "utf-8")
    return path


def test_the_schema_is_a_schema(whole: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator.check_schema(whole)
    assert {"RunDocument", "CheckDocument", "DoctorDocument", "ImageDocument", "ErrorDocument"} <= set(whole["$defs"])


def test_run(tmp_path: Path, profile: str, whole: dict[str, Any]) -> None:
    done = casemate("run", script(tmp_path, BOX), "--profile", profile, "--out", tmp_path / "out", "--json")
    found = document(done, "RunDocument", whole, 0)
    assert done.stderr == ""
    assert (found["ok"], found["outcome"]["verdict"], found["outcome"]["exit_code"]) == (True, "part", 0)
    assert found["parts"][0]["facts"]["volume"] == pytest.approx(10 * 20 * 30)
    assert found["parts"][0]["facts"]["area"] == pytest.approx(2 * (10 * 20 + 10 * 30 + 20 * 30))
    assert found["enforcement"]["profile"] == profile
    assert {"guest.seccomp", "guest.capabilities", "room.mounts"} <= {
        layer["name"] for layer in found["enforcement"]["layers"] if layer["on"]
    }
    # What is on the disk is what the document says, whole and alone.
    [artifact] = found["artifacts"].values()
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["box.step"]
    data = Path(artifact["path"]).read_bytes()
    assert (len(data), hashlib.sha256(data).hexdigest()) == (artifact["size"], artifact["sha256"])
    assert data.startswith(b"ISO-10303-21;")


def test_run_from_standard_input_with_two_parts(tmp_path: Path, profile: str, whole: dict[str, Any]) -> None:
    done = casemate("run", "-", "--profile", profile, "--out", tmp_path / "new" / "out", "--json", stdin=TWO.encode())
    found = document(done, "RunDocument", whole, 0)
    assert [part["name"] for part in found["parts"]] == ["lid", "body"]
    assert [part["facts"]["volume"] for part in found["parts"]] == [pytest.approx(1), pytest.approx(8)]
    assert {path.name for path in (tmp_path / "new" / "out").iterdir()} == {"script-lid.step", "script-body.step"}


@pytest.mark.parametrize(
    ("text", "status", "reason"), [(DENIED, 3, "policy"), (FAILING, 1, "exited"), ("x = 1\n", 1, "exited")]
)
@pytest.mark.usefixtures("lent")
def test_run_of_what_gives_no_part(
    tmp_path: Path, profile: str, whole: dict[str, Any], text: str, status: int, reason: str
) -> None:
    out = tmp_path / "out"
    done = inside("run", script(tmp_path, text), "--profile", profile, "--out", out, "--json")
    found = document(done, "RunDocument", whole, status)
    assert (found["ok"], found["outcome"]["reason"], found["artifacts"]) == (False, reason, {})
    assert not out.exists() or not list(out.iterdir())
    if text == FAILING:
        assert found["outcome"]["error"]["type"] == "ZeroDivisionError"
        assert found["outcome"]["error"]["line"] == 3
    if text == DENIED:
        assert found["outcome"]["denials"][0]["line"] == 1
        assert found["outcome"]["denials"][0]["source_line"] == "import os"


@pytest.mark.parametrize("seconds", ["0", "-5"])
def test_no_time_is_no_time(tmp_path: Path, profile: str, whole: dict[str, Any], seconds: str) -> None:
    done = casemate("run", script(tmp_path, BOX), "--profile", profile, f"--deadline={seconds}", "--json")
    assert document(done, "ErrorDocument", whole, 2)["error"] == "UsageError"


def test_check(tmp_path: Path, profile: str, whole: dict[str, Any]) -> None:
    found = document(
        casemate("check", script(tmp_path, BOX), "--profile", profile, "--json"), "CheckDocument", whole, 0
    )
    assert (found["admitted"], found["denials"]) == (True, [])
    found = document(
        casemate("check", script(tmp_path, DENIED), "--profile", profile, "--json"), "CheckDocument", whole, 3
    )
    assert not found["admitted"]
    assert {(denial["line"], denial["source_line"]) for denial in found["denials"]} >= {(1, "import os")}


def test_check_runs_nothing(tmp_path: Path, profile: str, whole: dict[str, Any]) -> None:
    endless = script(tmp_path, "while True:\n    pass\n")
    document(casemate("check", endless, "--profile", profile, "--json"), "CheckDocument", whole, 0)


def test_doctor(profile: str, whole: dict[str, Any]) -> None:
    found = document(casemate("doctor", "--json"), "DoctorDocument", whole, 0)
    assert found["strongest"] == profile
    by_name = {row["name"]: row for row in found["profiles"]}
    assert by_name[profile]["enforceable"]
    assert {"cad", "cad-minimal", "cad-rlimit"} <= set(by_name)
    for layer in found["layers"]:
        assert layer["available"] == (layer["reason"] == "")
    for row in found["profiles"]:
        assert row["enforceable"] == (row["reason"] == "")
    assert by_name["cad-rlimit"]["not_held"]
    runtimes = {row["name"]: row for row in found["runtimes"]}
    assert list(runtimes) == ["crun", "runc", "runsc", "kata"]
    for row in runtimes.values():
        assert bool(row["version"]) == (row["reason"] == "")
    assert runtimes["runc"]["lacks"] == {}
    assert "host-processes" in runtimes["runsc"]["lacks"]


def test_a_runtime_that_cannot_be_used_is_a_refusal(tmp_path: Path, whole: dict[str, Any]) -> None:
    profile, source = profile_under(tmp_path, "runsc"), script(tmp_path, "x = 1\n")
    found = document(casemate("run", source, "--profile", profile, "--json"), "ErrorDocument", whole, 3)
    assert "host-processes: runsc cannot give it" in json.dumps(found)


def test_image_show(whole: dict[str, Any]) -> None:
    found = document(inside("image", "show", "cad", "--json"), "ImageDocument", whole, 0)
    assert found["name"] == "cad"
    assert len(found["digest"]) == 64
    assert Path(found["root"], "usr/bin/python3").is_file()


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("run", "{}/missing.py"), 2),
        (("run", "{}"), 2),
        (("check", "{}/missing.py"), 2),
        (("run", "{}/box.py", "--input", "{}/missing.dxf"), 2),
        (("run", "{}/box.py", "--profile", "nothing"), 3),
        (("run", "{}/box.py", "--profile", "{}/bad.toml"), 3),
        (("run", "{}/box.py", "--profile", "{}/binary.toml"), 3),
        (("check", "{}/box.py", "--profile", "{}/bad.toml"), 3),
        (("run", "{}/box.py", "--profile", "strongest", "--deadline", "nan"), 2),
        (("run", "{}/box.py", "--profile", "strongest", "--input", "{}/box.py", "--input", "{}/more/box.py"), 3),
        (("run", "{}/box.py", "--profile", "strongest", "--input", "{}/.hidden"), 3),
        (("demo", "{}/more/empty"), 3),
        (("image", "show", "nothing"), 4),
        (("image", "show", "../cad"), 3),
        (("image", "build", "nothing"), 3),
        (("run",), 2),
        (("run", "{}/box.py", "--surplus"), 2),
        (("run", "{}/box.py", "--deadline", "soon"), 2),
        (("nothing",), 2),
        ((), 2),
    ],
)
@pytest.mark.usefixtures("cold")
def test_errors_are_documents_too(
    tmp_path: Path, whole: dict[str, Any], arguments: tuple[str, ...], status: int
) -> None:
    script(tmp_path, BOX)
    (tmp_path / "more" / "empty").mkdir(parents=True)
    script(tmp_path / "more", BOX)
    (tmp_path / ".hidden").write_text("x")
    (tmp_path / "bad.toml").write_text("[profile]\nname = 'x'\n")
    (tmp_path / "binary.toml").write_bytes(b"name = '\xff'\n")
    done = inside(*(argument.replace("{}", str(tmp_path)) for argument in arguments), "--json")
    found = document(done, "ErrorDocument", whole, status)
    assert found["message"]
    assert "Traceback" not in done.stderr
