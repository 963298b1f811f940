from build123d import *

with BuildPart() as sign:
    Box(80, 25, 3)
    top = sign.faces().sort_by(Axis.Z)[-1]
    with BuildSketch(top) as letters:
        Text("CASE 42", font_size=12, align=(Align.CENTER, Align.CENTER), font_style=FontStyle.BOLD)
    extrude(amount=1)
export_step(sign.part, "sign.step")
export_stl(sign.part, "sign.stl")
