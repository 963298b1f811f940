import cadquery as cq

w = 10
d = 10
h = 10

part1 = cq.Workplane().box(2 * w, 2 * d, h)
part2 = cq.Workplane().box(w, d, 2 * h)
part3 = cq.Workplane().box(w, d, 3 * h)

assy = (
    cq.Assembly(part1, loc=cq.Location(cq.Vector(-w, 0, h / 2)))
    .add(part2, loc=cq.Location(cq.Vector(1.5 * w, -0.5 * d, h / 2)), color=cq.Color(0, 0, 1, 0.5))
    .add(part3, loc=cq.Location(cq.Vector(-0.5 * w, -0.5 * d, 2 * h)), color=cq.Color("red"))
)
show_object(assy)
