"""Makes cases, judges them, and makes what is found small."""

from __future__ import annotations

import hashlib
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

CORPUS = Path(__file__).parent / "corpus"


def examples(cases: SearchStrategy[bytes], count: int, number: int = 0) -> list[bytes]:
    """So many different cases; the same for the same number (and the same Hypothesis)."""
    made: dict[bytes, None] = {}

    @seed(number)
    @settings(
        max_examples=count, database=None, deadline=None, phases=[Phase.generate], print_blob=False,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(cases)
    def keep(case: bytes) -> None:
        made[case] = None

    keep()
    return list(made)


def kept(target: str) -> list[Path]:
    """Cases of the corpus."""
    return sorted(path for path in (CORPUS / target).glob("*") if path.is_file())


def keep(target: str, case: bytes) -> Path:
    """Put a case into the corpus."""
    path = CORPUS / target / hashlib.sha256(case).hexdigest()[:16]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(case)
    return path


def smaller(case: bytes, wrong: Callable[[bytes], object], tries: int = 300) -> bytes:
    """A case with pieces taken out, lines before bytes, that is still wrong."""
    for separator in (b"\n", b""):
        pieces = case.split(separator) if separator else [case[n : n + 1] for n in range(len(case))]
        size = len(pieces) // 2
        while size and tries > 0:
            start = 0
            while start < len(pieces) and tries > 0:
                tries -= 1
                left = pieces[:start] + pieces[start + size :]
                if wrong(separator.join(left)):
                    pieces = left
                else:
                    start += size
            size //= 2
        case = separator.join(pieces)
    return case


def batches(cases: SearchStrategy[bytes], size: int, start: int) -> Iterator[list[bytes]]:
    """Without end, each of other cases."""
    while True:
        yield examples(cases, size, start)
        start += 1


def scratch() -> tempfile.TemporaryDirectory[str]:
    """A directory for a while."""
    return tempfile.TemporaryDirectory(prefix="casemate-fuzz-")


Tally = Counter[str]
