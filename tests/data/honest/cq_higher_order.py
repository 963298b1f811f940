import cadquery as cq
from functools import partial, reduce
import itertools


def at(shape, x, y):
    return shape.translate((x, y, 0))


def compose(*functions):
    def run(value):
        for function in functions:
            value = function(value)
        return value

    return run


peg = cq.Workplane().circle(2).extrude(10)
place = partial(at, peg)
pegs = [place(x, y) for x, y in itertools.product((-10, 10), (-5, 5))]
board = reduce(lambda a, b: a.union(b), pegs, cq.Workplane().box(30, 20, 4))
finish = compose(lambda s: s.edges("|Z").fillet(0.5), lambda s: s.faces("<Z").chamfer(0.3))
result = finish(board)
