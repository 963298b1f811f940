import cadquery as cq

base_w, top_w, h, length = 20, 30, 8, 60
clearance = 0.2


def dovetail(c=0.0):
    def half(sign):
        return [(sign * (base_w / 2 + c), -h / 2), (sign * (top_w / 2 + c), h / 2 + c)]

    (a, b), (d, e) = half(1), half(-1)
    return cq.Workplane("XZ").polyline([a, b, e, d]).close().extrude(length / 2, both=True)


male = dovetail()
female = cq.Workplane("XY").box(50, length, 16).cut(dovetail(clearance))
parts = {"male": male, "female": female.translate((60, 0, 0))}
for label, solid in parts.items():
    volume = solid.val().Volume()
    status = "ok" if volume > 0 else "empty"
    print(f"{label:<8} {volume:10.1f} {status}")
    show_object(solid, label)
