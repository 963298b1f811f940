import cadquery as cq

plate = cq.Workplane().box(30, 20, 3)
result = plate.edges("|Z").edges(">X").fillet(2).edges().fillet(9)
