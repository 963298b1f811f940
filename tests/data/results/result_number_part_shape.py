import cadquery as cq

result = 42
part = cq.Workplane().box(1, 2, 3)
