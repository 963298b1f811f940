import cadquery as cq

base = cq.Workplane().box(10, 10, 2)
lid = cq.Workplane().box(10, 10, 1)
show_object(base)
show_object(lid)
show_object(cq.Workplane().box(2, 2, 2))
show_object(cq.Workplane().box(3, 3, 3))
