import cadquery as cq

result = cq.Assembly()
result.add(cq.Workplane().box(1, 1, 1))
result.add(cq.Workplane().box(2, 2, 2), loc=cq.Location(cq.Vector(5, 0, 0)))
