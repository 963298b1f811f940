"""Every message is a frozen value that crosses the wire unchanged."""

from __future__ import annotations

import dataclasses
import inspect

import pytest
from launcher.examples import MESSAGES

from casemate.launcher import messages, spec

KINDS = {
    value
    for _, value in inspect.getmembers(messages, inspect.isclass)
    if dataclasses.is_dataclass(value) and isinstance(getattr(value, "kind", None), str)
}


def test_the_examples_hold_every_message() -> None:
    assert {type(message) for message in MESSAGES} == KINDS
    assert len({cls.kind for cls in KINDS}) == len(KINDS)


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.kind)
def test_crosses_the_wire_unchanged(message: spec.Message) -> None:
    data = spec.encode(message)
    assert spec.decode(data) == message
    assert data.isascii()


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.kind)
def test_cannot_be_changed(message: spec.Message) -> None:
    name = dataclasses.fields(message)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(message, name, "other")
    hash(message)  # no list or dictionary inside
