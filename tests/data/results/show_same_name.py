import cadquery as cq

for size in (1, 2, 3):
    show_object(cq.Workplane().box(size, size, size), name="cube")
