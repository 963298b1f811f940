from build123d import *

with BuildPart() as handle:
    with BuildLine() as path:
        p = Spline((0, 0, 0), (20, 0, 20), (60, 0, 20), (80, 0, 0), tangents=((0, 0, 1), (0, 0, -1)))
    with BuildSketch(Plane(origin=p @ 0, z_dir=p % 0)) as section_sketch:
        Circle(4)
    sweep()
assert abs(handle.part.volume) > 1000
