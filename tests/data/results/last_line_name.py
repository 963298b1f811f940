import cadquery as cq

flange = cq.Workplane().box(6, 6, 1)
spare = cq.Workplane().box(1, 1, 1)
flange
