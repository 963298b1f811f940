import cadquery as cq

body = cq.Workplane().box(10, 10, 4)
holes = cq.Workplane().rect(2, 2).extrude(10, both=True)
bracket = body.cut(holes)
