"""An extruded heat sink with eleven fins and two blind holes for its screws."""

import cadquery as cq

side = 60.0
base = 5.0
fins = 11
fin_thickness = 1.5
fin_height = 20.0

pitch = (side - fin_thickness) / (fins - 1)

sink = cq.Workplane("XY").box(side, side, base, centered=(True, True, False))
for i in range(fins):
    x = -side / 2 + fin_thickness / 2 + i * pitch
    fin = cq.Workplane("XY").box(fin_thickness, side, fin_height, centered=(True, True, False))
    sink = sink.union(fin.translate((x, 0, base)))

result = sink.faces("<Z").workplane().pushPoints([(-20, 0), (20, 0)]).hole(2.5, 4)
