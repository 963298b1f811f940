"""A pillow block for a bearing of 30 mm outer diameter, with two counterbored mounting holes."""

import cadquery as cq

length = 100.0
depth = 30.0
base = 12.0
axis_height = 35.0
housing = 48.0
bearing = 30.0
mounting = 76.0

foot = cq.Workplane("XY").box(length, depth, base, centered=(True, True, False))
foot = foot.faces(">Z").workplane().pushPoints([(-mounting / 2, 0), (mounting / 2, 0)]).cboreHole(9, 15, 5)

body = (
    cq.Workplane("XZ", origin=(0, depth / 2, 0))
    .moveTo(-housing / 2, base)
    .lineTo(housing / 2, base)
    .lineTo(housing / 2, axis_height)
    .threePointArc((0, axis_height + housing / 2), (-housing / 2, axis_height))
    .close()
    .extrude(depth)
)
bore = cq.Workplane("XZ", origin=(0, depth / 2, axis_height)).circle(bearing / 2).extrude(depth)

result = foot.union(body).cut(bore)
