import cadquery as cq

profile = (
    cq.Workplane("XZ")
    .moveTo(0, 0)
    .lineTo(15, 0)
    .lineTo(15, 8)
    .threePointArc((13, 12), (8, 14))
    .lineTo(0, 14)
    .close()
)
knob = profile.revolve(360, (0, 0, 0), (0, 1, 0))
grips = cq.Workplane("XY").polarArray(16, 0, 360, 12).circle(1.8).extrude(14)
result = knob.cut(grips).faces("<Z").workplane().hole(6, 10)
debug(grips)
