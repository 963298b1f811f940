import cadquery as cq

base = cq.Workplane("XY").box(80, 30, 4)
result = base.faces(">Z").workplane().text(
    "CASE-42", 12, -1, combine="cut", halign="center", valign="center", kind="bold", font="Liberation Sans"
)
