"""A butt hinge as an assembly of three named parts: two leaves with interlocking knuckles, and the pin."""

import cadquery as cq

length = 60.0
leaf_width = 34.0
thickness = 3.0
knuckles = 5
knuckle_diameter = 8.0
pin_diameter = 4.0
clearance = 0.2

reach = 4.5  # how far the leaf stays clear of the axis
spacing = length / knuckles


def leaf(first):
    """One leaf to the right of the axis (the Y axis) with every second knuckle, from number `first`."""
    plate = cq.Workplane("XY").box(leaf_width - reach, length, thickness, centered=(False, False, True))
    plate = plate.translate((reach, 0, 0))
    for i in range(first, knuckles, 2):
        start = i * spacing + clearance / 2
        run = spacing - clearance
        barrel = cq.Workplane("XZ", origin=(0, start, 0)).circle(knuckle_diameter / 2).extrude(-run)
        web = cq.Workplane("XY").box(reach, run, thickness, centered=(False, False, True)).translate((0, start, 0))
        plate = plate.union(barrel).union(web)
    bore = cq.Workplane("XZ").circle(pin_diameter / 2).extrude(-length)
    screws = (
        cq.Workplane("XY", origin=(0, 0, -thickness / 2))
        .pushPoints([(20, length / 6), (24, length / 2), (20, length * 5 / 6)])
        .circle(2.25)
        .extrude(thickness)
    )
    return plate.cut(bore).cut(screws)


pin = cq.Workplane("XZ").circle(pin_diameter / 2 - 0.05).extrude(-length)
left = leaf(1).mirror("YZ")

result = (
    cq.Assembly(name="hinge")
    .add(leaf(0), name="right_leaf", color=cq.Color("steelblue"))
    .add(left, name="left_leaf", color=cq.Color("lightsteelblue"))
    .add(pin, name="pin", color=cq.Color("gray"))
)
