"""A name plate with raised lettering in the image's own font."""

import cadquery as cq

length, width, thickness = 100.0, 30.0, 4.0
relief = 1.0

plate = cq.Workplane("XY").box(length, width, thickness, centered=(True, True, False)).edges("|Z").fillet(3)
plate = plate.faces(">Z").workplane().rect(88, 18, forConstruction=True).vertices().hole(3.2)

lettering = cq.Workplane("XY", origin=(0, 0, thickness)).text("CASEMATE", 12, relief, font="DejaVu Sans", kind="bold")

result = plate.union(lettering)
