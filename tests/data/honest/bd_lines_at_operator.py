from build123d import *

with BuildPart() as ex:
    with BuildSketch() as s:
        with BuildLine() as l:
            l1 = Line((0, 0), (30, 0))
            l2 = RadiusArc(l1 @ 1, (30, 20), -15)
            l3 = Line(l2 @ 1, (0, 20))
            l4 = Line(l3 @ 1, l1 @ 0)
            tangent = l2 % 0.5
            place = l1 ^ 0.5
        make_face()
    extrude(amount=8)
print(tangent, place.position)
