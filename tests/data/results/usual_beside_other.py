import cadquery as cq

part = cq.Workplane().box(3, 2, 1)
lid = cq.Workplane().box(3, 2, 4)
