from build123d import *

with BuildSketch() as result:
    Rectangle(4, 3)
