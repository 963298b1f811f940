from build123d import *

with BuildPart() as block:
    Box(30, 20, 10)
    long_edges = block.edges().filter_by(lambda e: e.length > 25)
    chamfer(long_edges, length=1, length2=2)
    ends = block.faces().filter_by(GeomType.PLANE).group_by(SortBy.AREA)
    with BuildSketch(block.faces().sort_by(Axis.X)[-1]) as end_sketch:
        with Locations((0, 0)):
            Ellipse(4, 2)
    extrude(amount=5)
print([len(list(g)) for g in ends])
