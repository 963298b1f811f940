"""The script's own process makes neither the file nor the facts: whatever it patches, both are those of the shape."""

from __future__ import annotations

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
