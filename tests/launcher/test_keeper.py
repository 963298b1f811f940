"""What a room says about itself can end the room, never the keeper."""

from __future__ import annotations

from collections import deque

import pytest

from casemate.launcher import spec
from casemate.launcher.keeper import Keeper
from casemate.launcher.messages import Layer


@pytest.fixture
def keeper() -> Keeper:
    """One that sends nothing: what it would send waits in its queue."""
    made = Keeper.__new__(Keeper)
    made._outgoing = deque()
    made._flush = lambda: None  # type: ignore[method-assign]
    return made


def test_a_message_that_grew_past_one_packet_becomes_a_fault(keeper: Keeper) -> None:
    # Two messages from inside, each within its bound, end up in one.
    layers = tuple(Layer(f"guest.{number}", True, "x" * 1000) for number in range(300))
    ended = spec.Ended("run-1", "exited", "", 0, 0, 1.0, 0.0, 1.0, 1, 1, 0, (), 0, 0, 0, layers)
    keeper._tell(ended, (0, 0, 0))
    keeper._tell(spec.Ready("room-1", layers))
    keeper._tell(spec.Fault("run-2", "y" * spec.MAX_MESSAGE))
    messages = [message for message, _ in keeper._outgoing]
    assert all(isinstance(message, spec.Fault) for message in messages)
    assert [getattr(message, "id", "") for message in messages] == ["run-1", "room-1", "run-2"]
    assert [descriptors for _, descriptors in keeper._outgoing] == [()] * 3
    for message in messages:
        spec.encode(message)


def test_a_message_that_fits_goes_out_with_copies_of_its_descriptors(keeper: Keeper) -> None:
    ended = spec.Ended("run-1", "exited", "", 0, 0, 1.0, 0.0, 1.0, 1, 1, 0, (), 0, 0, 0, ())
    keeper._tell(ended, (0, 0, 0))
    [(message, descriptors)] = keeper._outgoing
    assert message == ended
    assert len(set(descriptors)) == 3
    assert 0 not in descriptors
    spec.close_all(descriptors)
