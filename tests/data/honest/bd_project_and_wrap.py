from build123d import *

base = Cylinder(20, 40)
marker = (Plane.XZ.offset(30) * Pos(0, 5) * Circle(5)).faces()[0]
projected = marker.project_to_shape(base, direction=(0, 1, 0))
cap_face = base.faces().sort_by(Axis.Z)[-1]
badge = Solid.extrude(cap_face, cap_face.normal_at() * 2)
part = base + badge
print(len(projected), part.is_valid, part.center(), part.bounding_box().max.Z)
