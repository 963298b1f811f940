from build123d import *

with BuildPart() as block:
    Box(10, 10, 3)
    fillet(block.edges(), 9)
