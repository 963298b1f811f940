import cadquery as cq

r = cq.Workplane("XY").circle(10).extrude(2)
