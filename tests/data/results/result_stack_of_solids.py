import cadquery as cq

result = cq.Workplane().rarray(10, 10, 3, 2).box(1, 1, 1, combine=False)
