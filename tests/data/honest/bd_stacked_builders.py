from build123d import *

with BuildPart(Plane.XY) as stage_1, Locations((0, 0, 0), (40, 0, 0)):
    Box(20, 20, 10)
with BuildPart() as stage_2:
    add(stage_1.part)
    with Locations(stage_1.faces().sort_by(Axis.Z)[-2:]):
        CounterBoreHole(radius=2, counter_bore_radius=4, counter_bore_depth=3)
show_all()
