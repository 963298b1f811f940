import cadquery as cq

result = cq.Workplane().box(60, 15, 3).faces(">Z").workplane().text("CASE 42", 10, 1)
