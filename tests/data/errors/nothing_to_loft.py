import cadquery as cq

result = cq.Workplane().rect(3, 3).loft()
