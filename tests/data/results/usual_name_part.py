import cadquery as cq

model_size = 3
part = cq.Workplane().box(model_size, 2, 1)
cutter = cq.Workplane().box(9, 9, 9)
