"""A link plate in build123d's builder mode: a slot-shaped body, two counterbored holes and a pocket."""

from build123d import *

with BuildPart() as link:
    with BuildSketch():
        SlotOverall(90, 30)
    extrude(amount=10)

    top = link.faces().sort_by(Axis.Z)[-1]
    with Locations(top):
        with Locations((-30, 0), (30, 0)):
            CounterBoreHole(radius=5, counter_bore_radius=8, counter_bore_depth=4)

    with BuildSketch(top):
        Rectangle(20, 16)
    extrude(amount=-6, mode=Mode.SUBTRACT)

part = link.part
