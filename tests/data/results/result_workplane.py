import cadquery as cq

plate = cq.Workplane("XY").box(60, 40, 5)
result = plate.faces(">Z").workplane().rect(50, 30, forConstruction=True).vertices().hole(4)
