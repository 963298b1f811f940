from build123d import *

with BuildPart() as p:
    with BuildSketch() as s:
        Rectangle(80, 20)
        with Locations((20, 0)):
            SlotOverall(20, 6, mode=Mode.SUBTRACT)
        mirror(about=Plane.YZ, mode=Mode.INTERSECT)
    extrude(amount=4, taper=2)
    split(bisect_by=Plane.XZ, keep=Keep.BOTH)
final = p.part
