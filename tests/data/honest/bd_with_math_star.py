from math import *
from build123d import *

n = 5
pts = []
for i in range(2 * n):
    rr = 20 if i % 2 == 0 else 9
    pts.append((rr * cos(i * pi / n), rr * sin(i * pi / n)))
star = make_face(Polyline(*pts, close=True))
part = extrude(star, 6)
part = part - Cylinder(4, 20)
