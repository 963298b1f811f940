from build123d import *

with BuildLine() as result:
    Line((0, 0), (5, 0))
