from build123d import *

with BuildPart() as case:
    Box(60, 40, 20)
    fillet(case.edges().filter_by(Axis.Z), radius=4)
    topf = case.faces().sort_by().last
    offset(amount=-2, openings=topf)
    with Locations((0, 0, -8)):
        with GridLocations(48, 28, 2, 2) as posts:
            Cylinder(3, 12, align=(Align.CENTER, Align.CENTER, Align.MIN))
            Hole(1.2)
