from build123d import *

with BuildPart() as part:
    with BuildSketch():
        Rectangle(30, 10)
    extrude(amount=4)
