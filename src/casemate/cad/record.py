"""The replayable record of a generation: prompts, replies, sources, outcomes, timings and tokens, as one JSON file."""

from __future__ import annotations

import hashlib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from casemate.cad.checks import Checks, Fault
from casemate.cad.generators import Message
from casemate.control.files import write_file
from casemate.errors import Denied
from casemate.model import Notice, Outcome, Part, RunResult, Usage

FORMAT = 1
MOST_BYTES = 64 << 20
_OUTPUT = 4000


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Run(_Frozen):
    """What a sandbox gave, without the files' bytes; `files` is name → SHA-256."""

    outcome: Outcome
    parts: tuple[Part, ...]
    usage: Usage
    warnings: tuple[Notice, ...]
    files: dict[str, str]
    stdout: str
    stderr: str
    trusted: bool

    @classmethod
    def of(cls, result: RunResult) -> Run:
        """A result's."""
        return cls(
            outcome=result.outcome, parts=result.parts, usage=result.usage, warnings=result.warnings,
            files={name: file.sha256 for name, file in result.artifacts.items()},
            stdout=result.stdout.text[:_OUTPUT], stderr=result.stderr.text[:_OUTPUT], trusted=result.trusted,
        )  # fmt: skip


class Attempt(_Frozen):
    """One turn of the loop. Seconds; `run` is None if there was nothing to run, or it had been run before.

    `same_as` is the number of an earlier attempt with the same source.
    """

    number: int
    messages: tuple[Message, ...]
    reply: str
    finish: str
    model: str
    prompt_tokens: int | None
    completion_tokens: int | None
    source: str
    how: str
    run: Run | None
    same_as: int | None
    faults: tuple[Fault, ...]
    account: str
    model_seconds: float
    run_seconds: float

    @property
    def ok(self) -> bool:
        """True for a part that passed every check."""
        return self.run is not None and not self.faults


class Record(_Frozen):
    """A whole generation. `reason` is why the loop ended: `part`, `attempts`, `deadline`, `model` or `unfinished`.

    `generator` is what the generator says of itself (its attribute `settings`), without secrets.
    `best` is the number of the attempt whose part was delivered, None if none made one.
    """

    format: int = FORMAT
    request: str
    checks: Checks
    generator: dict[str, str | int | float | None] = {}
    profile: str
    profile_digest: str
    image_digest: str
    limits: dict[str, float]
    deadline: float
    attempts: tuple[Attempt, ...]
    reason: str
    message: str
    best: int | None
    seconds: float

    def save(self, path: Path) -> None:
        """Write it as JSON, whole or not at all; a link in its place is replaced, not followed."""
        write_file(path, (self.model_dump_json(indent=1) + "\n").encode())

    @classmethod
    def load(cls, path: Path) -> Record:
        """Read one; raises Denied for anything else, OSError."""
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise Denied(f"{path}: more than {MOST_BYTES} bytes")
        try:
            record = cls.model_validate_json(data)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise Denied(f"{path} is no record of a generation: {where}: {first['msg']}") from None
        if record.format != FORMAT:
            raise Denied(f"{path} has format {record.format}, not {FORMAT}")
        return record


def digest(source: str) -> str:
    """Of a script as it counts: without trailing blanks and empty lines at its ends."""
    text = "\n".join(line.rstrip() for line in source.strip().splitlines())
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
