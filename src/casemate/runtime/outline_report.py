"""The one parser of what a drawing writes on its report descriptor (`guest/outline.py`): whole numbers in a square."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from casemate.runtime.report import Seconds, Strict, read

SIZE, MOST_POINTS = 4095, 12_000
Place = Annotated[int, Field(ge=0, le=SIZE)]
Line = tuple[tuple[int, int], ...]


class StageRecord(Strict):
    """The drawing began or ended."""

    kind: Literal["stage"]
    name: Literal["outline"]
    event: Literal["start", "end"]
    seconds: Seconds = 0.0


class LinesRecord(Strict):
    """Polylines, each x0, y0, x1, y1, …, y upwards."""

    kind: Literal["lines"]
    lines: list[Annotated[list[Place], Field(min_length=4, max_length=20_000)]]


Record = Annotated[StageRecord | LinesRecord, Field(discriminator="kind")]
_RECORD: TypeAdapter[Record] = TypeAdapter(Record)


def parse(data: bytes) -> tuple[Line, ...]:
    """The lines up to the first record that does not fit, and to MOST_POINTS; never raises."""
    records, _ = read(data, _RECORD)
    lines: list[Line] = []
    left = MOST_POINTS
    for line in (line for record in records if isinstance(record, LinesRecord) for line in record.lines):
        left -= len(line) // 2
        if left < 0:
            break
        lines.append(tuple(zip(line[::2], line[1::2], strict=False)))
    return tuple(lines)
