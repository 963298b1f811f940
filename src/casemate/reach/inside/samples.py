"""Runs inside a sandbox: values as honest scripts have them, to start the walk from."""

import build123d
import cadquery
import numpy


def samples():
    """What it is -> the value."""
    box = cadquery.Workplane("XY").box(3, 2, 1)
    part = build123d.Box(3, 2, 1)
    with build123d.BuildPart() as builder:
        with build123d.BuildSketch() as sketch:
            build123d.Rectangle(2, 1)
        build123d.extrude(amount=1)
    with build123d.BuildLine() as line:
        build123d.Line((0, 0), (1, 1))
    assembly = cadquery.Assembly().add(box, name="a", color=cadquery.Color("red"))
    return {
        "a workplane": box,
        "a workplane's context": box.ctx,
        "a solid": box.val(),
        "a face": box.faces().val(),
        "a wire": box.wires().val(),
        "an edge": box.edges().val(),
        "a vertex": box.vertices().val(),
        "a shell": box.shells().val(),
        "a compound": cadquery.Compound.makeCompound([box.val()]),
        "a box": box.val().BoundingBox(),
        "a vector": cadquery.Vector(1, 2, 3),
        "a plane": cadquery.Plane.XY(),
        "a place": cadquery.Location(cadquery.Vector(1, 2, 3)),
        "a matrix": cadquery.Matrix(),
        "an assembly": assembly,
        "a sketch": cadquery.Sketch().rect(2, 1).vertices().fillet(0.1),
        "a colour": cadquery.Color("red"),
        "a selector": cadquery.StringSyntaxSelector(">Z"),
        "a box selector": cadquery.selectors.BoxSelector((0, 0, 0), (1, 1, 1)),
        "a part": part,
        "a part's solid": part.solids()[0],
        "a part's faces": part.faces(),
        "a part's face": part.faces()[0],
        "a part's edge": part.edges()[0],
        "a part's wire": part.wires()[0],
        "a part's vertex": part.vertices()[0],
        "a part's shell": part.shells()[0],
        "a part's box": part.bounding_box(),
        "a builder of parts": builder,
        "a builder of sketches": sketch,
        "a builder of lines": line,
        "a curve": build123d.Line((0, 0), (1, 1)),
        "a circle": build123d.Circle(1),
        "a text": build123d.Text("a", 5),
        "an axis": build123d.Axis.Z,
        "a direction": build123d.Vector(1, 2, 3),
        "a location": build123d.Location((1, 2, 3)),
        "places": build123d.GridLocations(1, 1, 2, 2),
        "a joint": build123d.RigidJoint("a", part, build123d.Location()),
        "an array": numpy.zeros((2, 2)),
        "a number of numpy": numpy.float64(1),
        "a generator of numbers": numpy.random.default_rng(1),
        "a number": 1,
        "a fraction": 1.5,
        "a complex number": 1j,
        "a truth": True,
        "a text of Python": "a",
        "a list": [1],
        "a tuple": (1,),
        "a dict": {"a": 1},
        "a set": {1},
        "a frozen set": frozenset({1}),
        "a range": range(2),
        "a slice": slice(1),
        "an exception": ValueError("a"),
        "a missing file": FileNotFoundError(2, "a"),
        "a function": lambda: 1,
        "a generator": (x for x in [1]),
    }
