import cadquery as cq

result = cq.Workplane("XY").box(20, 20, 10)
for radius in (12, 8, 4, 2):
    try:
        result = result.edges("|Z").fillet(radius)
        break
    except Exception as e:
        print(f"fillet {radius} failed: {e}")
else:
    print("no fillet fits")
try:
    result = result.faces(">Z").chamfer(0.5)
except:
    pass
