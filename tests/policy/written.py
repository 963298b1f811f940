"""Profiles for tests: the shipped files, edited row by row, and read with names that resolve."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from casemate.errors import Fault, PolicyError
from casemate.policy import Names, Profile, parse

FILES = sorted((Path(__file__).parents[2] / "profiles").glob("*.toml"))
CALLS = {"cad": frozenset({"read", "write"}), "smaller": frozenset({"read"}), "strict": frozenset({"read"})}
NAMES = Names(frozenset({"cad", "python"}), CALLS | {"python": frozenset({"read", "write", "execve", "socket"})})


def text_of(name: str) -> str:
    return (Path(__file__).parents[2] / "profiles" / f"{name}.toml").read_text("utf-8")


def load(text: str) -> Profile:
    return parse(text, "mine.toml", NAMES)


def written(rows: dict[str, Any]) -> str:
    """TOML of two levels; JSON's scalars and lists are TOML's too."""
    lines = []
    for table, items in rows.items():
        lines.append(f"[{table}]")
        for key, value in items.items():
            inline = "{ x = 1 }" if isinstance(value, dict) else json.dumps(value)
            lines.append(f"{key} = {inline}")
    return "\n".join(lines)


def edited(row: str, value: object, text: str | None = None) -> str:
    rows = tomllib.loads(text_of("cad") if text is None else text)
    table, _, key = row.partition(".")
    rows[table][key] = value
    return written(rows)


def faults(text: str) -> tuple[Fault, ...]:
    """What is wrong with it; each is in the message, with file and line."""
    with pytest.raises(PolicyError) as caught:
        load(text)
    assert caught.value.faults
    for fault in caught.value.faults:
        assert fault.file == "mine.toml"
        assert 1 <= fault.line <= text.count("\n") + 1
        assert str(fault).startswith(f"mine.toml:{fault.line}: ")
        assert str(fault) in str(caught.value).split("\n")
    return caught.value.faults


def refusal(text: str) -> str:
    return "\n".join(map(str, faults(text)))
