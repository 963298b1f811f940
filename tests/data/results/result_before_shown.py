import cadquery as cq

result = cq.Workplane().box(1, 2, 3)
show_object(cq.Workplane().box(9, 9, 9), name="other")
