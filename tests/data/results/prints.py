import cadquery as cq

print("width", 3)
log("logged")
result = cq.Workplane().box(3, 3, 3)
