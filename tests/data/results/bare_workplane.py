import cadquery as cq

result = cq.Workplane("XY")
