import cadquery as cq

result = cq.Solid.makeBox(2, 3, 4)
