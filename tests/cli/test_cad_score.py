"""`casemate cad score` as a user runs it."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest
from cad.steps import box, made, short
from cli.command import casemate, document, inside

from casemate import Host
from casemate.cad.protocols import protocol
from casemate.cad.score import Score, summed
from casemate.cli import cad_score

CUBE = "import cadquery as cq\nresult = cq.Workplane().box(10, 10, 10)\n"
SPHERE = "import cadquery as cq\nresult = cq.Workplane().sphere(5)\n"


def write(directory: Path, **files: str | bytes) -> Path:
    directory.mkdir(exist_ok=True)
    for name, data in files.items():
        stem, _, suffix = name.rpartition("_")
        (directory / f"{stem}.{suffix}").write_bytes(data.encode() if isinstance(data, str) else data)
    return directory


def lines(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def test_directories_of_files_and_scripts(host: Host, profile: str, tmp_path: Path, whole: dict[str, Any]) -> None:
    cube, plots = made(host, box(10, 10, 10)), tmp_path / "plots"
    reference = write(tmp_path / "ref", a_step=cube, b_step=cube, c_step=cube, d_step=cube, e_step=cube, f_step=cube)
    generated = write(
        tmp_path / "gen", a_step=cube, b_py=SPHERE, c_py="import os\n", d_py="import cadquery\nx = 1 / 0\n", e_stp=b"x"
    )
    done = casemate(
        "cad", "score", generated, "--reference", reference, "--profile", profile, "--points", "500", "--seed", "7",
        "--plots", plots, "--jobs", "2", "--json",
    )  # fmt: skip
    found = document(done, "ScoreDocument", whole, 0)
    states = {one["id"]: (one["state"], one["reason"]) for one in found["scores"]}
    assert states == {
        "a": ("valid", ""), "b": ("valid", ""), "c": ("invalid", "policy"), "d": ("invalid", "no_result"),
        "e": ("invalid", "unreadable"), "f": ("invalid", "missing"),
    }  # fmt: skip
    assert list(states) == list("abcdef")
    overall = found["overall"]
    assert (overall["count"], overall["valid"], overall["invalid"], overall["unscored"]) == (6, 2, 4, 0)
    assert overall["invalidity_ratio"] == pytest.approx(4 / 6)
    assert overall["metrics"]["iou"]["count"] == 2
    assert overall["metrics"]["iou"]["mean"] == pytest.approx((1 + math.pi / 6) / 2)
    assert overall["metrics"]["volume_error"]["median"] == pytest.approx((1 - math.pi / 6) / 2)
    assert found["settings"] == {"points": 500, "seed": 7, "normalise": "unit-cube", "align": "none"}
    assert set(found["plots"]) == set(overall["metrics"])
    assert all(Path(path).read_bytes().startswith(b"\x89PNG") for path in found["plots"].values())


@pytest.mark.long
def test_rows_with_difficulties(profile: str, tmp_path: Path, whole: dict[str, Any]) -> None:
    write(tmp_path, cube_py=CUBE)
    reference = lines(
        tmp_path / "ref.jsonl",
        {"id": "1", "script": "cube.py", "difficulty": "easy"},
        {"id": "2", "source": CUBE, "difficulty": "hard"},
        {"id": "3", "source": "x = 1\n", "difficulty": "hard"},
    )
    generated = lines(tmp_path / "gen.jsonl", {"id": "2", "source": "while True: pass\n", "model": "m"},
                      {"id": "1", "source": CUBE}, {"id": "3", "source": CUBE})  # fmt: skip
    limited = short(tmp_path, profile, cpu_time=4.0)
    done = casemate(
        "cad", "score", generated, "--reference", reference, "--profile", limited, "--protocol", "cadprompt",
        "--points", "500", "--json",
    )  # fmt: skip
    found = document(done, "ScoreDocument", whole, 1)
    assert [(one["id"], one["state"], one["reason"]) for one in found["scores"]] == [
        ("1", "valid", ""), ("2", "invalid", found["scores"][1]["reason"]), ("3", "unscored", "reference"),
    ]  # fmt: skip
    assert found["scores"][1]["reason"] in ("cpu_time", "signaled")
    assert list(found["by_difficulty"]) == ["easy", "hard"]
    assert found["by_difficulty"]["easy"]["validity_rate"] == 1
    hard = found["by_difficulty"]["hard"]
    assert (hard["count"], hard["unscored"], hard["validity_rate"]) == (2, 1, 0)
    assert hard["metrics"]["chamfer"] == {
        "count": 0, "mean": None, "median": None, "lower_quartile": None, "upper_quartile": None,
    }  # fmt: skip
    assert hard["penalised"]["hausdorff"]["median"] == pytest.approx(math.sqrt(3))
    assert hard["penalised"]["iogt"]["median"] == 0


@pytest.mark.usefixtures("lent")
def test_two_files_belong_together_and_a_person_can_read_it(host: Host, profile: str, tmp_path: Path) -> None:
    write(tmp_path, mine_step=made(host, "cq.Workplane().sphere(5)"), other_step=made(host, box(10, 10, 10)))
    done = inside(
        "cad", "score", tmp_path / "mine.step", "--reference", tmp_path / "other.step", "--profile", profile,
        "--points", "100",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "mine: valid" in done.stdout
    assert "0.5236" in done.stdout


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--points", "0"), "points 0"),
        (("--seed", "-1"), "seed -1"),
        (("--profile", "python"), "CAD profile"),
        (("--profile", "no-such"), "no-such"),
    ],
)
@pytest.mark.usefixtures("cold")
def test_what_is_wrong_is_denied(more: tuple[str, ...], words: str, tmp_path: Path, whole: dict[str, Any]) -> None:
    write(tmp_path, a_step="x")
    done = inside("cad", "score", tmp_path / "a.step", "--reference", tmp_path / "a.step", *more, "--json")
    assert words in document(done, "ErrorDocument", whole, 3)["message"]


def test_a_file_that_is_not_there_is_usage(tmp_path: Path, whole: dict[str, Any]) -> None:
    done = inside("cad", "score", tmp_path / "a.step", "--reference", tmp_path / "b.step", "--json")
    document(done, "ErrorDocument", whole, 2)


def test_pictures_without_matplotlib_are_refused_with_the_remedy(
    tmp_path: Path, whole: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, a_step="x")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = inside(
        "cad", "score", tmp_path / "a.step", "--reference", tmp_path / "a.step", "--plots", tmp_path / "out", "--json"
    )
    assert "casemate[plots]" in document(done, "ErrorDocument", whole, 3)["message"]
    assert not (tmp_path / "out").exists()


def test_a_difficulty_called_all_hides_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    chosen = protocol("cad-recode")
    found = [Score("a", "all", "valid", iou=0.25), Score("b", "hard", "valid", iou=0.75)]
    cad_score._show(summed(chosen, chosen.settings(), "cad", found), {})
    shown = next(line for line in capsys.readouterr().out.splitlines() if "IoU" in line)
    assert [shown.count(value) for value in ("0.5", "0.25", "0.75")] == [2, 2, 2]
