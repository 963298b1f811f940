"""Writing what a run made: whole files or none, with names that stay in their directory."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from pathlib import Path

import pytest

from casemate.cli.run import write
from casemate.cli.status import of_error, of_outcome
from casemate.errors import Busy, CasemateError, Denied, PolicyError, SandboxFault
from casemate.model import Artifact, Enforcement, Outcome, Reason, RunResult, Stage, Stream, Usage, Verdict

WELL = Outcome(Reason.EXITED, Stage.DONE, exit_code=0, verdict=Verdict.PART)


def result(*names: str) -> RunResult:
    empty = Stream(b"", 0, False)
    data = b"ISO-10303-21;"
    artifacts = {name: Artifact(name, data, hashlib.sha256(data).hexdigest()) for name in names}
    usage, enforcement = Usage(0.0, None, None, None), Enforcement("cad", "", "", ())
    return RunResult("x", WELL, empty, empty, (), artifacts, usage, enforcement, True)


def test_a_single_file_has_the_scripts_name(tmp_path: Path) -> None:
    assert write(result("part.step"), tmp_path, "bracket") == {"part.step": str(tmp_path / "bracket.step")}
    assert (tmp_path / "bracket.step").read_bytes() == b"ISO-10303-21;"
    assert (tmp_path / "bracket.step").stat().st_mode & 0o777 == 0o644


def test_several_files_are_told_apart(tmp_path: Path) -> None:
    write(result("lid.step", "body.step"), tmp_path / "new", "box")
    assert sorted(os.listdir(tmp_path / "new")) == ["box-body.step", "box-lid.step"]


def test_a_file_that_is_there_is_replaced_and_a_link_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "box.step").symlink_to("../precious")
    write(result("part.step"), tmp_path / "out", "box")
    assert (tmp_path / "precious").read_text() == "mine"
    assert not (tmp_path / "out" / "box.step").is_symlink()


@pytest.mark.parametrize("call", ["replace", "chmod"])
def test_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    (tmp_path / "box.step").write_text("the last run's")

    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, call, fails)
    with pytest.raises(OSError, match="space"):
        write(result("part.step"), tmp_path, "box")
    assert os.listdir(tmp_path) == ["box.step"]
    assert (tmp_path / "box.step").read_text() == "the last run's"


def test_a_plain_programs_files_keep_their_names(tmp_path: Path) -> None:
    program = dataclasses.replace(result("a/b/c.txt", "d"), outcome=dataclasses.replace(WELL, verdict=None))
    told = write(program, tmp_path / "out", "script")
    assert told == {"a/b/c.txt": str(tmp_path / "out/a/b/c.txt"), "d": str(tmp_path / "out/d")}
    assert sorted(os.listdir(tmp_path / "out/a/b")) == ["c.txt"]
    assert (tmp_path / "out/d").read_bytes() == b"ISO-10303-21;"


def test_nothing_to_write(tmp_path: Path) -> None:
    assert write(result(), tmp_path / "out", "box") == {}


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({}, 0),
        ({"verdict": None}, 0),
        ({"verdict": Verdict.NO_RESULT}, 1),
        ({"verdict": Verdict.INSPECTOR_FAILED}, 1),
        ({"exit_code": 1}, 1),
        ({"exit_code": 3}, 1),
        ({"exit_code": None}, 1),
        ({"reason": Reason.SIGNALED}, 1),
        ({"reason": Reason.LIMIT}, 1),
        ({"reason": Reason.POLICY}, 3),
        ({"reason": Reason.LOST}, 4),
        ({"reason": Reason.CANCELLED}, 130),
    ],
)
def test_exit_statuses_of_results(change: dict[str, object], status: int) -> None:
    assert of_outcome(dataclasses.replace(WELL, **change)) == status  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("error", "status"), [(Denied(), 3), (PolicyError(), 3), (SandboxFault(), 4), (Busy(), 5), (CasemateError(), 4)]
)
def test_exit_statuses_of_errors(error: CasemateError, status: int) -> None:
    assert of_error(error) == status
