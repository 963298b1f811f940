from build123d import *

with BuildPart() as thing:
    block = Box(10, 10, 10)
    Cylinder(2, 10, mode=Mode.SUBTRACT)
