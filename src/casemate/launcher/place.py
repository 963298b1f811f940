"""A room as the keeper knows it, and what the keeper does when something happens there."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from . import cgroups, spec


@dataclass
class Place:
    """A room that stands, and its templates."""

    room: spec.Room
    pid: int
    channel: spec.Channel
    layers: tuple[spec.Layer, ...]
    group: cgroups.Group | None
    templates: dict[str, spec.Channel] = field(default_factory=dict)
    warm: set[str] = field(default_factory=set)
    namespaces: set[str] = field(default_factory=set)
    retired: bool = False
    lifeline: int = -1
    said: int = -1
    """The two pipes to a runtime's monitor (`oci.Started`)."""
    due: float = math.inf
    """When a runtime must have made it."""


@dataclass(frozen=True, slots=True)
class Events:
    """What the keeper does when something happens in a room."""

    watch: Callable[[int, Callable[[], None]], None]
    forget: Callable[[int], None]
    tell: Callable[[spec.Message, tuple[int, ...]], None]
    exited: Callable[[str, spec.Exited], bool]
    """A guest of this room was reaped; False if none was to be told of."""
    refused: Callable[[str, spec.Fault], bool]
    """A template of this room could not do what it was told; False if that concerned no execution."""
    lost: Callable[[str], None]
    """No execution of this room can end well any more."""
