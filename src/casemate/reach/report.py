"""Parses what the programs in the sandbox say, once and strictly, into frozen values."""

from __future__ import annotations

import json
import keyword
import re
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from casemate.errors import SandboxFault

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
TEXT = 96
"""Longest text of a library that is kept."""
_DOTTED = r"^[A-Za-z_][A-Za-z0-9_]{0,63}(\.[A-Za-z_][A-Za-z0-9_]{0,63}){0,7}$"

_T = TypeVar("_T", bound=BaseModel)
Dotted = Annotated[str, StringConstraints(pattern=_DOTTED, max_length=200)]
Version = Annotated[str, StringConstraints(pattern=r"^[0-9][0-9A-Za-z.+!-]{0,40}$")]
Distribution = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
Said = Annotated[str, StringConstraints(max_length=2000)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Survey(_Strict):
    """What the libraries have."""

    python: Version
    versions: dict[Distribution, Version] = Field(max_length=50)
    """Distribution → version."""
    owners: dict[Said, Annotated[list[Dotted], Field(min_length=1, max_length=2000)]] = Field(max_length=20_000)
    """Public attribute name → classes that define it."""
    modules: dict[Dotted, dict[Said, tuple[bool, Said]]] = Field(max_length=50)
    """Module → public name → whether it is a module, and a line about it."""


class Finding(_Strict):
    """A name that leads to what a script must not have."""

    kind: Annotated[str, StringConstraints(pattern="^(reaches|opens)$")]
    names: Annotated[list[Said], Field(max_length=50)]
    """The attribute names on the way, the last of which is to blame; none if the way begins and ends at `root`."""
    root: Said
    path: Said
    what: Said


class Walk(_Strict):
    """What one walk met."""

    stopped: Annotated[str, StringConstraints(pattern="^(|depth|objects|seconds)$")]
    """The bound that ended it, or an empty text: then it saw all there is to see."""
    objects: Annotated[int, Field(ge=0)]
    types: Annotated[int, Field(ge=0)]
    depth: Annotated[int, Field(ge=0)]
    findings: list[Finding] = Field(max_length=5_000)


def is_name(name: str) -> bool:
    """True for a plain public name that may stand in a table: ASCII, no underscore in front, no keyword."""
    return NAME.fullmatch(name) is not None and not keyword.iskeyword(name)


def plain(text: str, length: int = TEXT) -> str:
    """A library's text as it may stand in a source file: printable ASCII without quotes and backslashes, one line."""
    kept = "".join(c for c in text if c.isascii() and c.isprintable()).replace("\\", "").replace('"', "'")
    kept = " ".join(kept.split())
    if len(kept) > length:
        kept = kept[:length].rpartition(" ")[0] or kept[:length]
    return kept.strip(" .:,;")


def fitting(name: str, text: str) -> str:
    """The same, short enough for a line of a table with this name."""
    return plain(text, min(TEXT, 120 - len("    '': '',") - len(name)))


def parse(line: str, nonce: str) -> dict[str, Any]:
    """The one line that carries the random word of its job, as JSON; raises SandboxFault."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise SandboxFault(f"the program in the sandbox gave no report: {type(error).__name__}") from None
    if not isinstance(found, dict) or found.pop("nonce", None) != nonce:
        raise SandboxFault("the program in the sandbox gave no report")
    return found


def survey(found: dict[str, Any]) -> Survey:
    """A Survey; names that cannot stand in a table are dropped, anything else that is not as it should be raises."""
    parsed = _validated(Survey, found)
    return parsed.model_copy(
        update={
            "owners": {name: owners for name, owners in parsed.owners.items() if is_name(name)},
            "modules": {
                module: {name: said for name, said in names.items() if is_name(name)}
                for module, names in parsed.modules.items()
            },
        }
    )


def walk(found: dict[str, Any]) -> Walk:
    """A Walk; raises SandboxFault for anything that is not as it should be."""
    return _validated(Walk, found)


def _validated(model: type[_T], found: dict[str, Any]) -> _T:
    try:
        return model.model_validate_json(json.dumps(found))
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])[:100]
        raise SandboxFault(f"the report from the sandbox is not one: {plain(place)}: {first['msg'][:200]}") from None
