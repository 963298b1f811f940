"""What is wrong with a value, in the words of a profile: pydantic speaks of inputs and tuples, which TOML has not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

_KINDS = {
    "int_type": "must be a whole number", "float_type": "must be a number", "bool_type": "must be true or false",
    "string_type": "must be a text", "tuple_type": "must be a list", "finite_number": "must be a finite number",
    "string_too_short": "must not be empty", "missing": "is missing", "extra_forbidden": "is not known",
}  # fmt: skip
_BOUNDS = {
    "greater_than": "must be above {gt:g}", "greater_than_equal": "must be at least {ge}",
    "less_than": "must be below {lt:g}", "less_than_equal": "must be at most {le}",
    "literal_error": "must be {expected}", "string_pattern_mismatch": "must match {pattern}",
    "too_short": "must have at least {min_length} items", "too_long": "must have at most {max_length} items",
}  # fmt: skip


def wrong(error: Mapping[str, object]) -> str:
    """What the value must be instead; `error` is one of ValidationError.errors(), with its context and input."""
    value, kind = error.get("input"), str(error["type"])
    context: Any = error.get("ctx", {})
    if isinstance(value, float) and not math.isfinite(value):
        return _KINDS["finite_number"]
    if kind in _BOUNDS:
        told = _BOUNDS[kind].format(**context)
        return f"{told}, not {value!r:.60}" if isinstance(value, str) else told
    return _KINDS.get(kind, str(error["msg"]))
