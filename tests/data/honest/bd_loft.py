from build123d import *

with BuildPart() as art:
    with BuildSketch() as bottom:
        Rectangle(30, 30)
    with BuildSketch(Plane.XY.offset(25)) as top:
        Circle(10)
    loft()
    with BuildSketch(art.faces().sort_by(Axis.Z)[-1]):
        Circle(6)
    extrude(amount=-10, mode=Mode.SUBTRACT)
