from build123d import *

with BuildPart() as grill:
    with BuildSketch():
        Circle(30)
        with HexLocations(radius=3, x_count=7, y_count=7):
            RegularPolygon(radius=2.2, side_count=6, mode=Mode.SUBTRACT)
    extrude(amount=2)
