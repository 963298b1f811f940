"""Parquet by pyarrow, which is an extra (`casemate[parquet]`); read in record batches.

The file is the caller's: its container is parsed here, by Arrow's C++, as the user. The scripts in it are bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from casemate.batch.rows import CHUNK, Row, Why, of_cells, plain, refused
from casemate.errors import Denied

BATCH = 64
"""Rows that are decoded at a time."""


def check(path: str, column: str) -> None:
    """Denied if pyarrow is not there, or if the file has no such column; a damaged file is told when its turn comes."""
    arrow = _arrow()
    try:
        with arrow.parquet.ParquetFile(path) as file:
            names = file.schema_arrow.names
    except Exception:  # of damaged bytes it raises Arrow's exceptions, OSError, UnicodeDecodeError and others
        return
    if column not in names:
        listed = ", ".join(map(plain, names[:20]))
        raise Denied(f"{plain(path)}: no column {plain(column)!r} (--column); it has {listed}")


def count(path: str) -> int:
    """How many rows its footer says it has; 1 for one that is damaged."""
    arrow = _arrow()
    try:
        with arrow.parquet.ParquetFile(path) as file:
            return int(file.metadata.num_rows)
    except Exception:  # as above
        return 1


def rows(path: str, column: str) -> Iterator[Row]:
    """Its rows; where it is damaged, one last row that says so."""
    arrow = _arrow()
    number, place = 0, plain(path)
    try:
        # Without these Arrow reads whole row groups, which are as large as whoever wrote them liked.
        with arrow.parquet.ParquetFile(path, pre_buffer=False, buffer_size=CHUNK) as file:
            names = file.schema_arrow.names
            wanted = [column, *(["id"] if "id" in names and column != "id" else [])]
            for batch in file.iter_batches(batch_size=BATCH, columns=wanted, use_threads=False):
                sources = batch.column(column)
                ids = batch.column("id") if "id" in batch.schema.names else None
                for at in range(batch.num_rows):
                    yield _row(f"{place}#{number}", sources[at], None if ids is None else ids[at])
                    number += 1
    except Exception:  # as above
        yield refused(place, Why.DAMAGED, f"no parquet, or damaged behind row {number}")


def _row(place: str, source: Any, name: Any) -> Row:
    try:
        return of_cells(place, source.as_py(), None if name is None else name.as_py())
    except UnicodeDecodeError as error:
        return refused(place, Why.NOT_UTF8, f"byte {error.start} is no UTF-8")
    except (ValueError, ArithmeticError):  # a date that Python has not, and the like
        return refused(place, Why.NOT_TEXT, "a value that Python cannot hold")


def _arrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise Denied("parquet needs pyarrow: pip install 'casemate[parquet]'") from None
    return pyarrow
