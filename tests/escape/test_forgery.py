"""The script's own process makes neither the file nor the facts: whatever it patches, both are those of the shape."""

from __future__ import annotations

import pytest
from harness import DATA, confined

FORGED = ("forged_records", "patched_checks", "patched_properties", "patched_shape", "patched_writer")


def test_patched_libraries_change_neither_file_nor_facts() -> None:
    with confined("sweep", "30", "2", str(DATA / "forged")) as running:
        seen = running.finish(300)["seen"]
    assert all(result["ahead"] for result in seen.values())
    plain = seen["forged/plain.py"]
    assert plain["verdict"] == "part"
    assert plain["volumes"] == [pytest.approx(1000)]
    for name in FORGED:
        result = seen[f"forged/{name}.py"]
        assert result["verdict"] == "part", (name, result)
        assert result["volumes"] == [pytest.approx(1000)], name
        assert result["steps"] == plain["steps"], name


def test_twin_facts_of_the_scripts_own_process_are_what_it_likes() -> None:
    # The same patch, asked in the script's process: 42 for a cube of 1000.
    with confined("sweep", "30", "1", str(DATA / "attacks" / "own" / "asks_itself.py")) as running:
        result = running.finish(300)["seen"]["own/asks_itself.py"]
    assert "42.0 True" in result["output"]
    assert result["volumes"] == [pytest.approx(1000)]
