"""Fixtures of the command line's tests."""

from __future__ import annotations

from typing import Any

import pytest
from cli.command import schema


@pytest.fixture(scope="session")
def whole() -> dict[str, Any]:
    """The schema of every document."""
    return schema()
