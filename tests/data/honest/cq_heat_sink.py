import cadquery as cq

# Parameters
base_w, base_l, base_h = 60.0, 40.0, 5.0
n_fins = 9
fin_h = 20.0
fin_t = 1.6

pitch = (base_w - fin_t) / (n_fins - 1)
body = cq.Workplane("XY").box(base_w, base_l, base_h, centered=(True, True, False))
for i in range(n_fins):
    x = -base_w / 2 + fin_t / 2 + i * pitch
    fin = cq.Workplane("XY").box(fin_t, base_l, fin_h, centered=(True, True, False)).translate((x, 0, base_h))
    body = body.union(fin)
holes = [(-24, -14), (24, -14), (-24, 14), (24, 14)]
result = body.faces("<Z").workplane().pushPoints(holes).hole(3.2)
cq.exporters.export(result, "heat_sink.step")
cq.exporters.export(result, "heat_sink.stl", exportType="STL", tolerance=0.05)
print(f"Volume: {result.val().Volume():.2f} mm^3")
