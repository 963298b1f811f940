"""A host's ceiling: what no profile on it may go above, whoever asks (docs/profiles.md).

It has the rows of a profile, and only those that it caps: a number is the most, a list is all that is allowed. Of a row
that holds a list itself each item must be in it. A cap that no profile could reach or meet is refused, like a row that
can never take effect. Two rows say which profiles there may be: `profile.name`, which any file can claim, and
`profile.digest`, which it cannot.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args, get_origin

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from casemate.errors import Fault, PolicyError
from casemate.policy.lines import Written
from casemate.policy.profile import Profile, tuples
from casemate.policy.rows import tables
from casemate.policy.words import wrong

UNCAPPED = frozenset(
    {"profile.version", "profile.description", "isolation.walls", "layers.required", "layers.not_held"}
)
"""Rows without a direction, and those where more is tighter."""
_STRICT = ConfigDict(strict=True)


@dataclass(frozen=True, slots=True)
class Ceiling:
    """A loaded ceiling: (row, the most or all that is allowed), in the file's order."""

    written: Written
    caps: tuple[tuple[str, float | tuple[object, ...]], ...]

    def cap(self, profile: Profile) -> Profile:
        """The profile, if nothing of it is above the ceiling; raises PolicyError with the lines of both."""
        found = []
        for row, allowed in self.caps:
            value = profile.digest if row == "profile.digest" else profile.value(row)
            if excess := _above(value, allowed):
                place = f"{self.written.file}:{self.written.line(row)}"
                found.append(profile.written.fault(row, f"{excess} is above this host's ceiling ({place})"))
        if found:
            raise PolicyError.of(found)
        return profile


def parse_ceiling(text: str, file: str) -> Ceiling:
    """Load a ceiling from its text; raises PolicyError with every fault and its line."""
    written = Written(file, text)
    fields = {f"{table}.{key}": field for table, kind in tables() for key, field in kind.model_fields.items()}
    caps: list[tuple[str, float | tuple[object, ...]]] = []
    found: list[Fault] = []
    for row, value in _flat(written.read()):
        if row == "profile.digest":
            wrong = _wrong(Profile.model_fields["digest"], value)
        elif row not in fields or row in UNCAPPED:
            wrong = "there is no such row" if row not in fields else "is not for a ceiling to cap"
        else:
            wrong = _wrong(fields[row], value)
        if wrong:
            found.append(written.fault(row, wrong))
        else:
            caps.append((row, value))
    if found:
        raise PolicyError.of(found)
    return Ceiling(written, tuple(caps))


def _flat(read: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for table, rows in read.items():
        if isinstance(rows, dict):
            for key, value in rows.items():
                yield f"{table}.{key}", tuples(value)
        else:
            yield table, rows


def _wrong(field: FieldInfo, value: object) -> str:
    """What is wrong with a cap, if anything: it must be something that the row itself can say."""
    listed = get_origin(field.annotation) is tuple
    numeric = not listed and any(_is(field, number) for number in (1 << 10, 1.0))
    try:
        if numeric:
            if isinstance(value, str | bool | tuple | dict):
                return "a number is needed: the most that a profile may have"
            TypeAdapter(field.rebuild_annotation(), config=_STRICT).validate_python(value)
            return ""
        if not isinstance(value, tuple):
            return "a list of what is allowed is needed"
        if not value and not listed:
            return "allows nothing: no profile could be loaded"
        annotation = get_args(field.annotation)[0] if listed else field.rebuild_annotation()
        for item in value:
            TypeAdapter(annotation, config=_STRICT).validate_python(item)
    except ValidationError as error:
        return f"{wrong(error.errors()[0])}: can never take effect"
    return ""


def _is(field: FieldInfo, value: object) -> bool:
    """True if a row may hold such a number; its bounds do not matter."""
    kind: Any = field.annotation
    try:
        TypeAdapter(kind, config=_STRICT).validate_python(value)
    except ValidationError:
        return False
    return True


def _above(value: object, allowed: float | tuple[object, ...]) -> str:
    """What of a row's value is above its cap; "" if nothing is."""
    if isinstance(allowed, tuple):
        excess = [item for item in (value if isinstance(value, tuple) else (value,)) if item not in allowed]
        return ", ".join(str(item).lower() if isinstance(item, bool) else str(item) for item in excess)
    return str(value) if isinstance(value, int | float) and value > allowed else ""
