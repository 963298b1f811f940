"""A profile: every row of the boundary, written down (docs/profiles.md).

No row has a default and no unknown row is accepted, because a boundary that nobody wrote is an unknown boundary. A row
that says something which this version cannot enforce is refused when the profile is loaded, not when it is used
(policy/unbuilt.py).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Annotated

from pydantic import StringConstraints, ValidationError

from casemate.errors import Fault, PolicyError
from casemate.policy import rules
from casemate.policy.lines import Written
from casemate.policy.rows import Rows
from casemate.policy.unbuilt import unbuilt
from casemate.policy.words import wrong


class Profile(Rows):
    """A loaded profile; `digest` is the SHA-256 of the file's text."""

    digest: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    written: Written

    @property
    def name(self) -> str:
        """The profile's name."""
        return self.profile.name

    @property
    def needs_cgroups(self) -> bool:
        """True if memory, pids and cpu must be held by a cgroup."""
        return any(layer.startswith("cgroup-") for layer in self.layers.required)


def parse(text: str, file: str, names: rules.Names) -> Profile:
    """Load a profile from its text; `file` is its name in errors. Raises PolicyError with every fault and its line."""
    written = Written(file, text)
    tables = written.read()
    try:
        rows = Rows.model_validate(tuples(tables))
    except ValidationError as error:
        raise PolicyError.of(sorted(faults(error, written), key=lambda fault: fault.line)) from None
    found = [
        written.fault(*wrong)
        for wrong in (*rules.unresolved(rows, names), *rules.contradictions(rows), *rules.never_met(rows))
    ]
    found += unbuilt(rows, written)
    if found:
        raise PolicyError.of(sorted(found, key=lambda fault: fault.line))
    return Profile(
        **{name: getattr(rows, name) for name in Rows.model_fields},
        digest=hashlib.sha256(text.encode()).hexdigest(), written=written,
    )  # fmt: skip


def tuples(value: object) -> object:
    """TOML gives lists; a frozen value holds tuples."""
    if isinstance(value, dict):
        return {key: tuples(item) for key, item in value.items()}
    if isinstance(value, list):
        return tuple(tuples(item) for item in value)
    return value


def faults(error: ValidationError, written: Written) -> Iterator[Fault]:
    """What pydantic found, each in the words of a profile and with its line; rows that are no number once only."""
    told: set[tuple[str, str]] = set()
    for found in error.errors(include_url=False):
        row = ".".join(str(part) for part in found["loc"][:2])
        kind = "table" if len(found["loc"]) == 1 else "row"
        message = {"missing": f"the {kind} is missing", "extra_forbidden": f"there is no such {kind}"}.get(
            found["type"], wrong(found)
        )
        if (row, message) not in told:
            told.add((row, message))
            yield written.fault(row, message)
