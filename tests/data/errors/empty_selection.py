import cadquery as cq

result = cq.Workplane().box(1, 1, 1).faces("%CYLINDER").edges(">Z").chamfer(0.1)
