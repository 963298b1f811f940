import cadquery as cq

result = cq.Workplane().rect(4, 3)
