from build123d import *

result = Box(20, 20, 5) - Pos(0, 0, 0) * Cylinder(4, 5) + Pos(0, 0, 5) * Box(4, 4, 5)
