import cadquery as cq

part = cq.Workplane().box(4, 4, 4)
debug(part.faces(">Z"))
debug(cq.Workplane().box(9, 9, 9))
show_object(part)
