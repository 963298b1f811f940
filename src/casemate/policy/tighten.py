"""What a caller may change of a profile for one job: limits, and those only downwards."""

from __future__ import annotations

import hashlib
import json
import reprlib
from collections.abc import Mapping

from pydantic import ConfigDict, TypeAdapter, ValidationError

from casemate.errors import PolicyError
from casemate.policy import rules
from casemate.policy.limits import Limits, Stages
from casemate.policy.profile import Profile
from casemate.policy.words import wrong

_WORDS = frozenset({"output_overflow"})


def tighten(profile: Profile, asked: Mapping[str, float]) -> Profile:
    """The profile with these limits instead, and with a digest of its own.

    What then could never take effect goes down with them: stages with `wall_time`, `file_size` and artifacts with
    `disk_bytes`, `sockets` with `open_files`. Raises PolicyError for a limit that is unknown, zero, out of range or
    above the profile's.
    """
    limits = profile.limits.model_copy(update={name: _checked(profile, name, value) for name, value in asked.items()})
    limits = limits.model_copy(update=_fitting(profile, limits))
    budgets = {
        name: min(value, limits.wall_time)
        for name, value in profile.stages
        if name != "gate_memory" and isinstance(value, float)
    }
    stages = profile.stages.model_copy(update=budgets)
    tightened = profile.model_copy(
        update={"limits": limits, "stages": stages, "digest": _digest(profile, limits, stages)}
    )
    if left := tuple(rules.contradictions(tightened)):
        raise PolicyError.of([profile.written.fault(*wrong) for wrong in left])
    return tightened


def _checked(profile: Profile, name: str, value: float) -> float:
    row = f"limits.{name}"
    if name not in Limits.model_fields or name in _WORDS:
        there = ", ".join(sorted(Limits.model_fields.keys() - _WORDS))
        raise PolicyError(f"{row}: there is no such limit; there are {there}")
    adapter: TypeAdapter[float] = TypeAdapter(
        Limits.model_fields[name].rebuild_annotation(), config=ConfigDict(strict=True)
    )
    try:
        wanted = adapter.validate_python(value)
    except ValidationError as error:
        raise PolicyError.of([profile.written.fault(row, f"{_told(value)}: {wrong(error.errors()[0])}")]) from None
    most = getattr(profile.limits, name)
    if wanted > most:
        raise PolicyError.of(
            [profile.written.fault(row, f"{_told(value)} is above the profile's {most}; a caller may only tighten")]
        )
    return wanted


def _told(value: object) -> str:
    """As it was asked for; of a number without end, that it is one."""
    try:
        return reprlib.repr(value)
    except ValueError:  # more digits than int() turns into text (sys.set_int_max_str_digits)
        return "a number of thousands of digits"


def _fitting(profile: Profile, limits: Limits) -> dict[str, int]:
    room = limits.disk_bytes
    if profile.artifacts.inspection != "none":
        room = (room - rules.disk_for(0)) // 2
    total = min(limits.artifact_total_bytes, room)
    return {
        "file_size": min(limits.file_size, limits.disk_bytes),
        "artifact_total_bytes": total,
        "artifact_bytes": min(limits.artifact_bytes, total),
        "sockets": min(limits.sockets, limits.open_files),
    }


def _digest(profile: Profile, limits: Limits, stages: Stages) -> str:
    """Of the profile's digest and every row that differs; the profile's own if none does."""
    before, after = (
        {**dict(kind[0]), **dict(kind[1])} for kind in ((profile.limits, profile.stages), (limits, stages))
    )
    changed = {name: value for name, value in after.items() if value != before[name]}
    if not changed:
        return profile.digest
    text = f"{profile.digest}\n{json.dumps(changed, sort_keys=True, allow_nan=False)}"
    return hashlib.sha256(text.encode()).hexdigest()
