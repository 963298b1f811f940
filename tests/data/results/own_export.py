import cadquery as cq

body = cq.Workplane().box(8, 8, 8)
lid = cq.Workplane().box(8, 8, 1)
cq.exporters.export(body, "body.step")
cq.exporters.export(body, "body.stl")
cq.exporters.export(lid, "lid.step")
