import cadquery as cq

result = cq.Workplane().box(10, 0, 3)
