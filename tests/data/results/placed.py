import cadquery as cq

result = cq.Workplane().box(2, 2, 2).val().moved(cq.Location(cq.Vector(10, 0, 0), cq.Vector(0, 0, 1), 90))
