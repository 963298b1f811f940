import cadquery as cq

result = [cq.Workplane().box(1, 1, 1).translate((3 * n, 0, 0)) for n in range(40)]
