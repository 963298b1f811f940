import cadquery as cq

blocks = [cq.Workplane().box(n, 1, 1) for n in (1, 2, 3)]
