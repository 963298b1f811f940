"""The script's own process makes neither the file nor the facts: whatever it patches, both are those of the shape."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from harness import DATA, confined

FORGED = ("forged_records", "patched_checks", "patched_properties", "patched_shape", "patched_writer")


@pytest.fixture(scope="module")
def seen() -> dict[str, dict[str, Any]]:
    """What came of each script, one after the other on one Host."""
    with confined(
        "sweep", "30", "2", str(DATA / "forged"), str(DATA / "attacks" / "own" / "asks_itself.py")
    ) as running:
        found: dict[str, dict[str, Any]] = running.finish(300)["seen"]
    assert all(result["ahead"] for result in found.values())
    return found


def test_patched_libraries_change_neither_file_nor_facts(seen: dict[str, dict[str, Any]]) -> None:
    plain = seen["forged/plain.py"]
    assert plain["verdict"] == "part"
    assert plain["volumes"] == [pytest.approx(1000)]
    for name in FORGED:
        result = seen[f"forged/{name}.py"]
        assert result["verdict"] == "part", (name, result)
        assert result["volumes"] == [pytest.approx(1000)], name
        assert result["steps"] == plain["steps"], name


def test_twin_facts_of_the_scripts_own_process_are_what_it_likes(seen: dict[str, dict[str, Any]]) -> None:
    # The same patch, asked in the script's process: 42 for a cube of 1000.
    result = seen["own/asks_itself.py"]
    assert "42.0 True" in result["output"]
    assert result["volumes"] == [pytest.approx(1000)]


# What becomes of an honest box of 6000 when each is appended to it. These end before it is looked at; 004 and 010 spoil
# the report, after which nothing in it counts; 020 is refused.
ENDS = {"002", "004", "010", "020", "024", "026"}


def test_what_forges_a_result_changes_nothing_of_an_honest_one(tmp_path: Path) -> None:
    forgeries = sorted((DATA / "attacks" / "result").glob("*.py"))
    for file in forgeries:
        box = "import cadquery as cq\nshow_object(cq.Workplane().box(10, 20, 30))\n"
        (tmp_path / file.name).write_text(box + file.read_text("utf-8"), "utf-8")
    with confined("sweep", "30", "1", str(tmp_path)) as running:
        seen = {name.rpartition("/")[2][:-3]: result for name, result in running.finish(300)["seen"].items()}
    assert len(seen) == len(forgeries) == 15
    for name, result in seen.items():
        assert result["reason"] == "exited", (name, result)
        assert (result["verdict"] == "part") is (name not in ENDS), (name, result)
        assert result["volumes"] == ([] if name in ENDS else [pytest.approx(6000)]), (name, result)
    assert len({tuple(result["steps"].values()) for name, result in seen.items() if name not in ENDS}) == 1
