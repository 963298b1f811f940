import cadquery as cq

base = cq.Workplane().box(1, 1, 1)
rest = base.cut(cq.Workplane().box(2, 2, 2))
