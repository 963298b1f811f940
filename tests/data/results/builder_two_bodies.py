from build123d import *

with BuildPart() as result:
    with Locations((0, 0, 0), (20, 0, 0)):
        Box(5, 5, 5)
