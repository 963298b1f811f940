import build123d as b3d
import cadquery as cq

label = cq.Workplane().text("Ärger & ½", 10, 2)
bold = cq.Workplane().text("Bold", 10, 2, font="DejaVu Sans", kind="bold")
missing = cq.Workplane().text("none", 8, 1, font="Comic Sans MS")
with b3d.BuildSketch() as sketch:
    b3d.Text("build", 8)
result = cq.Workplane().box(80, 20, 4).union(label).union(bold.translate((0, 0, 2)))
