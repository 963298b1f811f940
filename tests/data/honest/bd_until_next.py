from build123d import *

with BuildPart() as p:
    with BuildSketch():
        Rectangle(40, 40)
    extrude(amount=4)
    with BuildSketch(Plane.XY.offset(30)):
        with PolarLocations(12, 6):
            Circle(2)
    extrude(until=Until.NEXT, dir=(0, 0, -1))
