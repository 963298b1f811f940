"""One wall-clock budget for several attempts."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Deadline:
    """A point in time, `at` on CLOCK_MONOTONIC (`time.monotonic()`), that several runs may share."""

    at: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """The point in time so many seconds from now."""
        return cls(time.monotonic() + seconds)

    def left(self) -> float:
        """Seconds until then; negative once it has passed."""
        return self.at - time.monotonic()
