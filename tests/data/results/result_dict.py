import cadquery as cq

result = {"Lid": cq.Workplane().box(4, 4, 1), "case body": cq.Workplane().box(4, 4, 3)}
