import cadquery as cq

radius = 2 - 2
result = cq.Workplane().box(10, 10, 3).edges().fillet(radius)
