import time
from build123d import *

start = time.perf_counter()
with BuildPart() as block:
    Box(10, 10, 10)
    with Locations(*[Vertex(3 * x, 3 * y, 5) for x in (-1, 1) for y in (-1, 1)]):
        Hole(1, depth=4)
elapsed = time.perf_counter() - start
stats = {name: len(items) for name, items in (("faces", block.faces()), ("edges", block.edges()))}
print(stats, elapsed < 60, repr(block.part.bounding_box().size))
