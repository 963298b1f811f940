"""What `casemate map` prints with `--json`; a row is a `casemate.batch.MapRow`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MapDocument:
    """`casemate map`: how many rows count as what; `results` is a file with a `MapRow` a line."""

    rows: int
    ok: int
    counts: dict[str, int]
    """`ok`, a verdict, a reason, `limit NAME`, `unreadable REASON`."""
    ran: int
    cached: int
    resumed: int
    """There from a map that was broken off."""
    unread: int
    cache_fault: str
    """Why results could not be kept, "" if they could."""
    results: str
    seconds: float
    exit_status: int
