"""Fixtures of the command line's tests."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from cli.command import schema

from casemate import Host
from casemate.cli import cad, cad_score, mapping, run
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


@pytest.fixture
def lent(monkeypatch: pytest.MonkeyPatch, host: Host) -> None:
    """Commands that run in this process get the Host of the session, whose template is warm."""
    for module in (cad, cad_score, mapping, run):
        monkeypatch.setattr(module, "Host", lambda **_: contextlib.nullcontext(host))
