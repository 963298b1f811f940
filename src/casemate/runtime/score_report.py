"""The one parser of what a comparison writes on its report descriptor (`guest/score.py`).

Its process ran no script, but it has parsed STEP files that one may have made: every record is checked as if it came
from one. What is told of the reference stands first, before a byte of the generated file was read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from casemate.model import Verdict
from casemate.runtime.report import Seconds, Strict, Text, read

Which = Literal["reference", "generated"]
ScoreStage = Literal["reference", "generated", "distances", "boolean", "sampled"]
Length = Annotated[float, Field(ge=0, le=1e50, allow_inf_nan=False)]
Volume = Annotated[float, Field(ge=-1e150, le=1e150, allow_inf_nan=False)]
Place = Annotated[float, Field(ge=-1e50, le=1e50, allow_inf_nan=False)]
Square = Annotated[float, Field(ge=0, le=1e100, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class StageRecord(Strict):
    """A stage began or ended."""

    kind: Literal["stage"]
    name: ScoreStage
    event: Literal["start", "end"]
    seconds: Seconds = 0.0


class ShapeRecord(Strict):
    """What a STEP file holds: a part, or why it is none; mm³, and xmin, ymin, zmin, xmax, ymax, zmax in mm."""

    kind: Literal["shape"]
    which: Which
    verdict: Verdict
    message: Text
    volume: Volume | None
    box: tuple[Place, Place, Place, Place, Place, Place] | None


class DistancesRecord(Strict):
    """Between points on both surfaces, in the units of the normalisation."""

    kind: Literal["distances"]
    chamfer: Square
    point_cloud: Length
    hausdorff: Length
    iogt: Share


class OverlapRecord(Strict):
    """Intersection over union of the solids."""

    kind: Literal["overlap"]
    method: Literal["boolean", "sampled", "none"]
    iou: Share | None
    error: Share
    samples: Annotated[int, Field(ge=0, le=1 << 40)]
    message: Text


Record = Annotated[StageRecord | ShapeRecord | DistancesRecord | OverlapRecord, Field(discriminator="kind")]
_RECORD: TypeAdapter[Record] = TypeAdapter(Record)


@dataclass(frozen=True, slots=True)
class ScoreReport:
    """The records of one comparison, in order; `damaged` says why parsing stopped before the end, if it did."""

    records: tuple[Record, ...]
    damaged: str = ""

    def shape(self, which: Which) -> ShapeRecord | None:
        """What was told first of a file; of the reference only as the first shape of all."""
        shapes = [record for record in self.records if isinstance(record, ShapeRecord)]
        if which == "reference":
            return shapes[0] if shapes and shapes[0].which == "reference" else None
        return next((record for record in shapes[1:] if record.which == which), None)

    @property
    def distances(self) -> DistancesRecord | None:
        """The first."""
        return next((record for record in self.records if isinstance(record, DistancesRecord)), None)

    @property
    def overlap(self) -> OverlapRecord | None:
        """The first."""
        return next((record for record in self.records if isinstance(record, OverlapRecord)), None)

    @property
    def unfinished(self) -> str:
        """The stage that began last and has not ended, or ""."""
        current = ""
        for record in self.records:
            if isinstance(record, StageRecord):
                current = record.name if record.event == "start" else ""
        return current


def parse(data: bytes) -> ScoreReport:
    """Parse what was kept of a report; never raises."""
    records, damaged = read(data, _RECORD)
    return ScoreReport(records, damaged)
