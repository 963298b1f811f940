"""What a caller demands of a part, on facts that a sandbox measured and on facts made by hand."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from casemate import Host
from casemate.cad import Checks
from casemate.model import Facts

BOX = Facts(6000.0, 2200.0, (0, 0, 0, 10, 20, 30), (5, 10, 15), 1, 1, 6, 12, True, True, 0, "xyz")

CASES: list[tuple[dict[str, Any], dict[str, Any], list[str]]] = [
    ({}, {}, []),
    ({"bounding_box": (10, 20, 30)}, {}, []),
    ({"bounding_box": (10.05, 20, 30)}, {}, []),
    ({"bounding_box": (10.5, 20, 30)}, {}, ["bounding_box"]),
    ({"bounding_box": (20, 10, 30)}, {}, ["bounding_box"]),
    ({"volume": (5900, 6100)}, {}, []),
    ({"volume": (6001, 6100)}, {}, ["volume"]),
    ({}, {"solids": 2}, ["solids"]),
    ({"solids": None}, {"solids": 2}, []),
    ({"watertight": True}, {}, []),
    ({"watertight": True}, {"closed": False}, ["watertight"]),
    ({"watertight": True}, {"valid": False}, ["watertight"]),
    ({"holes": 1}, {}, ["holes"]),
    ({"symmetric": "xz"}, {"symmetric": "xy"}, ["symmetric"]),
]


@pytest.mark.parametrize(("asked", "facts", "codes"), CASES)
def test_a_part_is_held_against_what_was_asked(asked: dict[str, Any], facts: dict[str, Any], codes: list[str]) -> None:
    assert [fault.code for fault in Checks(**asked).faults(dataclasses.replace(BOX, **facts))] == codes


@pytest.mark.parametrize(
    "asked",
    [
        {"bounding_box": (0, 1, 1)}, {"bounding_box": (float("nan"), 1, 1)}, {"volume": (2, 1)}, {"solids": 0},
        {"holes": -1}, {"symmetric": "w"}, {"tolerance": 0}, {"tolerance": 1},
    ],
)  # fmt: skip
def test_what_no_part_could_pass_is_refused(asked: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="|".join(asked)):
        Checks(**asked)


HEAD = "import cadquery as cq\nbox = cq.Workplane().box(40, 30, 10)\n"
MEASURED = [
    ("result = box", 0, "xyz", True),
    ("result = box.faces('>Z').workplane().hole(5)", 1, "xyz", True),
    ("result = box.faces('>Z').workplane().cboreHole(5, 9, 3)", 1, "xy", True),
    ("result = box.faces('>Z').workplane().rect(20, 10, forConstruction=True).vertices().hole(3)", 4, "xyz", True),
    ("result = box.faces('>Z').workplane().pushPoints([(10, 5)]).hole(3)", 1, "z", True),
    ("result = box.faces('>Z').workplane().hole(5, 4)", 1, "xy", True),
    ("result = box.faces('>Z').workplane().slot2D(20, 6).cutThruAll()", 0, "xyz", True),
    ("result = box.edges('|Z').fillet(3)", 0, "xyz", True),
    ("result = cq.Workplane().circle(10).extrude(30)", 0, "xyz", True),
    ("result = cq.Workplane().circle(10).circle(6).extrude(30)", 1, "xyz", True),
    ("result = box.faces('>X').workplane().hole(4).faces('>Z').workplane(origin=(0, 0)).hole(4)", 2, "xyz", True),
    # Half a hole at the edge, in two pieces: none.
    ("result = box.faces('>X').workplane().hole(4).faces('>Z').workplane().hole(4)", 1, "yz", True),
    ("result = box.faces('>Z').shell(-2)", 0, "xy", True),
    ("result = box.translate((100, 7, -3)).mirror('XZ')", 0, "xyz", True),
]


@pytest.mark.parametrize(("line", "holes", "symmetric", "closed"), MEASURED)
def test_holes_symmetry_and_closed_shells_are_measured(
    line: str, holes: int, symmetric: str, closed: bool, host: Host, profile: str
) -> None:
    (part,) = host.run(f"{HEAD}{line}\n", profile).parts
    assert part.facts is not None
    assert (part.facts.holes, part.facts.symmetric, part.facts.closed) == (holes, symmetric, closed)
