from build123d import *

part = Box(20, 20, 10) - Pos(0, 0, 5) * Cylinder(4, 6)
top = part.faces() > Axis.Z
last = top[-1]
group = part.edges() >> Axis.Z
low = part.edges() << Axis.Z
circles = part.edges() | GeomType.CIRCLE
mixed = part.faces().filter_by(lambda f: f.area > 50).sort_by(SortBy.AREA)
part = chamfer(circles.sort_by(Axis.Z)[-1], 0.5)
print(len(top), last.area, len(group), len(low), len(mixed))
