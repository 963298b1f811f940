from build123d import *

with BuildPart() as pulley:
    with BuildSketch(Plane.XZ) as profile:
        Polygon((5, 0), (20, 0), (16, 4), (20, 8), (5, 8), align=None)
    revolve(axis=Axis.Z)
    with PolarLocations(11, 5):
        Hole(radius=2)
