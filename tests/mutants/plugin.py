"""What the tests of a mutant leave out: twins, and all else that lays edits of its own over the package.

An edit that does not fit a package which was edited already fails, and that would count as a mutant that was seen.
"""

from __future__ import annotations

import harness
import pytest

REASON = "lays edits of its own over the package"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the twins out."""
    twins = [item for item in items if "twin" in item.name]
    items[:] = [item for item in items if "twin" not in item.name]
    config.hook.pytest_deselected(items=twins)


def _none(directory: object, edits: object) -> object:
    pytest.skip(REASON)


def pytest_configure() -> None:
    """Only where this is a plugin (pytest -p): who reads REASON keeps its harness."""
    harness.weakened = _none  # type: ignore[assignment]
