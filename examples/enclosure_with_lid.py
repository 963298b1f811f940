"""A box for a circuit board, with four screw posts, and the lid that fits it: two parts."""

import cadquery as cq

length, width, height = 80.0, 60.0, 30.0
wall = 2.0
corner = 4.0
posts = [(x, y) for x in (-32, 32) for y in (-22, 22)]

box = (
    cq.Workplane("XY")
    .box(length, width, height, centered=(True, True, False))
    .edges("|Z")
    .fillet(corner)
    .faces(">Z")
    .shell(-wall)
)
columns = cq.Workplane("XY", origin=(0, 0, wall)).pushPoints(posts).circle(3.5).extrude(26)
pilots = cq.Workplane("XY", origin=(0, 0, 8)).pushPoints(posts).circle(1.25).extrude(20)
box = box.union(columns).cut(pilots)

lid_thickness = 3.0
gap = 0.2  # between lip and wall
lip_length = length - 2 * wall - 2 * gap
lip_width = width - 2 * wall - 2 * gap

plate = cq.Workplane("XY").box(length, width, lid_thickness, centered=(True, True, False)).edges("|Z").fillet(corner)
lip = (
    cq.Workplane("XY")
    .box(lip_length, lip_width, 2, centered=(True, True, False))
    .edges("|Z")
    .fillet(corner - wall)
    .cut(cq.Workplane("XY").box(lip_length - 4, lip_width - 4, 10))
)
screws = cq.Workplane("XY").pushPoints(posts).circle(1.6).extrude(lid_thickness)
lid = plate.cut(screws).union(lip.translate((0, 0, -2))).translate((0, 0, height))

result = [box, lid]
