"""One point in time that several attempts share."""

from __future__ import annotations

import time

import pytest

from casemate import Deadline


def test_counts_on_the_monotonic_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 100.0)
    deadline = Deadline.after(30)
    assert deadline.at == 130.0
    assert deadline.left() == 30.0
    monkeypatch.setattr(time, "monotonic", lambda: 125.0)
    assert deadline.left() == 5.0  # a second attempt gets what the first has left
    monkeypatch.setattr(time, "monotonic", lambda: 131.0)
    assert deadline.left() == -1.0


def test_a_wall_clock_that_is_set_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    deadline = Deadline.after(30)
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert 0 < deadline.left() <= 30


def test_is_a_value() -> None:
    assert Deadline(5.0) == Deadline(5.0)
    with pytest.raises(AttributeError):
        Deadline(5.0).at = 6.0  # type: ignore[misc]
