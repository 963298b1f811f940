import cadquery as cq

result = cq.Workplane().box(3, 3, 3).faces(">Z").workplane()
