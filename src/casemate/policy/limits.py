"""The rows that are numbers: limits of a sandbox, and budgets of the stages inside its wall clock."""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,40}$")]
Count = Annotated[int, Field(gt=0, le=1 << 20)]
Bytes = Annotated[int, Field(gt=0, le=1 << 40)]
Seconds = Annotated[float, Field(gt=0, le=86400)]
NotApplicable = Literal["not-applicable"]
"""Of a row that could never take effect, because of another one; no other row may say it."""


class Table(BaseModel):
    """One table: every row is needed, none is unknown, no type is guessed, nothing changes."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Limits(Table):
    """Terminal limits end the job, refusing ones give it an errno (policy/explain.py). Threads are processes."""

    wall_time: Seconds
    cpu_time: Seconds
    cpus: Annotated[float, Field(ge=0.05, le=1024)]
    memory: Annotated[int, Field(ge=64 << 20, le=1 << 40)]
    processes: Count
    address_space: Bytes
    data: Bytes
    open_files: Annotated[int, Field(ge=16, le=1 << 20)]
    file_size: Bytes
    disk_bytes: Annotated[int, Field(ge=4 << 20, le=1 << 40)]
    inodes: Annotated[int, Field(ge=256, le=1 << 20)]
    sockets: Annotated[int, Field(ge=0, le=1 << 20)]  # 0 is written for what it is: none
    stdout_bytes: Bytes
    stderr_bytes: Bytes
    report_bytes: Bytes
    output_overflow: Literal["cut", "kill"]
    source_bytes: Annotated[int, Field(gt=0, le=262_144)]
    upload_bytes: Bytes
    download_bytes: Bytes
    artifact_count: Annotated[int, Field(gt=0, le=100)]  # each is a descriptor of one message (unix(7), SCM_RIGHTS)
    artifact_bytes: Bytes
    artifact_total_bytes: Bytes


class Stages(Table):
    """Seconds; `gate_memory` in bytes above the template's size. The last three are of a CAD job."""

    gate: Seconds | NotApplicable
    gate_memory: Bytes | NotApplicable
    handover: Seconds | NotApplicable
    step: Seconds | NotApplicable
    facts: Seconds | NotApplicable


Number = TypeVar("Number", int, float)


def applicable(value: Number | NotApplicable) -> Number | Literal[0]:
    """The number of a row, or 0 where there is nothing that it could bound."""
    return 0 if isinstance(value, str) else value
