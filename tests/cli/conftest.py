"""Fixtures of the command line's tests."""

from __future__ import annotations

from typing import Any

import pytest
from cli.command import schema

from casemate.runtime.rooms import Rooms


@pytest.fixture(scope="session")
def whole() -> dict[str, Any]:
    """The schema of every document."""
    return schema()


@pytest.fixture
def cold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is refused here is refused before a room is asked for, let alone a template warmed."""

    def asked(*_: object) -> None:
        raise AssertionError("a room was asked for")

    monkeypatch.setattr(Rooms, "standing", asked)
