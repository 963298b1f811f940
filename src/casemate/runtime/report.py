"""The one parser of what a guest writes on its report descriptor.

A record is four bytes of length, big-endian, and a JSON object of at most 64 KiB. Everything about it is hostile,
except that the first record of a gated script was written before the script ran: that one is latched, all later ones
are claims. Parsing stops at the first byte that does not fit, and says so; what came before it stands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError

from casemate.model import Denial, Facts, Notice, Verdict

MAX_RECORD = 64 * 1024
MAX_RECORDS = 10_000

Text = Annotated[str, StringConstraints(max_length=MAX_RECORD)]
Seconds = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]
Line = Annotated[int, Field(ge=0, le=1 << 31)]
Stage = Literal["gate", "script", "handover", "step", "facts"]
PartName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
BrepName = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,4}-[0-9]{1,5}\.brep$")]
StepName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\.step$")]


class Strict(BaseModel):
    """A record: its members, of their types, and no others."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)
    omitted: Annotated[int, Field(ge=0)] = 0


class GateRecord(Strict):
    """The gate's verdict."""

    kind: Literal["gate"]
    admitted: bool
    denials: tuple[Denial, ...]
    notices: tuple[Notice, ...]
    seconds: Seconds


class StageRecord(Strict):
    """A stage began or ended."""

    kind: Literal["stage"]
    name: Stage
    event: Literal["start", "end"]
    seconds: Seconds = 0.0


class NoticeRecord(Strict):
    """A notice."""

    kind: Literal["notice"]
    code: Text
    message: Text
    line: Line = 0


class ErrorRecord(Strict):
    """An exception."""

    kind: Literal["error"]
    stage: Stage
    type: Text
    message: Text
    line: Line
    source_line: Text
    function: Text
    hint: Text


class SolidFile(Strict):
    """One shape that was handed over."""

    name: Text
    file: BrepName


class HandedPart(Strict):
    """One part that was handed over."""

    name: PartName
    source: Text
    type: Literal["shape", "assembly", "sketch"]
    files: Annotated[tuple[SolidFile, ...], Field(min_length=1)]


class HandoverRecord(Strict):
    """What the script's process left in its job directory."""

    kind: Literal["handover"]
    parts: Annotated[tuple[HandedPart, ...], Field(min_length=1)]


class NoPartsRecord(Strict):
    """Nothing to hand over."""

    kind: Literal["noparts"]
    verdict: Verdict
    message: Text


class PartRecord(Strict):
    """What the second stage found of one part."""

    kind: Literal["part"]
    name: PartName
    verdict: Verdict
    file: StepName | None
    facts: Facts | None
    message: Text


Record = Annotated[
    GateRecord | StageRecord | NoticeRecord | ErrorRecord | HandoverRecord | NoPartsRecord | PartRecord,
    Field(discriminator="kind"),
]
_RECORD: TypeAdapter[Record] = TypeAdapter(Record)
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Report:
    """The records of one execution, in order; `damaged` says why parsing stopped before the end, if it did."""

    records: tuple[Record, ...]
    damaged: str = ""

    @property
    def gate(self) -> GateRecord | None:
        """The gate's verdict, only if it is the first record."""
        first = self.records[0] if self.records else None
        return first if isinstance(first, GateRecord) else None

    @property
    def stages(self) -> tuple[tuple[str, float], ...]:
        """Seconds of each stage that ended."""
        gate = (("gate", self.gate.seconds),) if self.gate else ()
        ended: dict[str, float] = {}
        for record in self.records:
            if isinstance(record, StageRecord) and record.event == "end":
                ended[record.name] = round(ended.get(record.name, 0.0) + record.seconds, 6)
        return (*gate, *ended.items())

    @property
    def unfinished(self) -> str:
        """The stage that began last and has not ended, or ""."""
        current = ""
        for record in self.records:
            if isinstance(record, StageRecord):
                current = record.name if record.event == "start" else ""
        return current

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Every notice, the gate's first."""
        own = tuple(Notice(r.code, r.message, r.line) for r in self.records if isinstance(r, NoticeRecord))
        return (*(self.gate.notices if self.gate else ()), *own)

    @property
    def error(self) -> ErrorRecord | None:
        """The first exception."""
        return next((r for r in self.records if isinstance(r, ErrorRecord)), None)

    @property
    def handover(self) -> HandoverRecord | None:
        """The hand-over, if there is exactly one."""
        found = [r for r in self.records if isinstance(r, HandoverRecord)]
        return found[0] if len(found) == 1 else None

    @property
    def no_parts(self) -> NoPartsRecord | None:
        """Why there is nothing to hand over."""
        return next((r for r in self.records if isinstance(r, NoPartsRecord)), None)

    @property
    def parts(self) -> tuple[PartRecord, ...]:
        """What the second stage found."""
        return tuple(r for r in self.records if isinstance(r, PartRecord))


def parse(data: bytes) -> Report:
    """Parse what was kept of a report; never raises."""
    records, damaged = read(data, _RECORD)
    return Report(records, damaged)


def read(data: bytes, kinds: TypeAdapter[_T]) -> tuple[tuple[_T, ...], str]:
    """The records up to the first that does not fit, and why that does not, or ""; never raises."""
    records: list[_T] = []
    offset = 0
    damaged = ""
    while offset < len(data):
        size = int.from_bytes(data[offset : offset + 4], "big")
        body = data[offset + 4 : offset + 4 + size]
        if size == 0 or size > MAX_RECORD or len(body) != size:
            damaged = f"record {len(records)}: length {size} does not fit"
        elif len(records) >= MAX_RECORDS:
            damaged = f"more than {MAX_RECORDS} records"
        else:
            try:
                records.append(kinds.validate_json(body))
            except (ValidationError, ValueError, RecursionError) as error:
                damaged = f"record {len(records)}: {str(error)[:500]}"
        if damaged:
            break
        offset += 4 + size
    return tuple(records), damaged
