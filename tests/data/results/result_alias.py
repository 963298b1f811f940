import cadquery as cq

bracket = cq.Workplane().box(5, 5, 5)
result = bracket
