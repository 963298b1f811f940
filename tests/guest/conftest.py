"""Fixtures of the guest's tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest


def records_in(data: bytes) -> list[dict[str, Any]]:
    """Read records as strictly as the runtime does."""
    records = []
    while data:
        size = int.from_bytes(data[:4], "big")
        assert len(data) >= 4 + size <= 64 * 1024
        records.append(json.loads(data[4 : 4 + size].decode("utf-8"), parse_constant=pytest.fail))
        data = data[4 + size :]
    return records


@pytest.fixture
def decode() -> Callable[[bytes], list[dict[str, Any]]]:
    return records_in
