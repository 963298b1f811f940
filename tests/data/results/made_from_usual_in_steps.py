import cadquery as cq

part = cq.Workplane().box(10, 10, 4)
top = part.faces(">Z").workplane()
raised = top.rect(4, 4).extrude(3)
finished = raised.translate((0, 0, 2))
