from build123d import *

box = Box(10, 5, 2)
box.position = (10, 0, 0)
box.orientation = (0, 0, 45)
lid = Cylinder(4, 1)
lid.location = Location((0, 0, 10), (0, 90, 0))
lid.position += Vector(0, 0, 1)
box.label, lid.label = "box", "lid"
box.color = Color(0x2266AA)
both = Compound(children=[box, lid], label="both")
lengths = [e.length for e in both.edges()]
assert min(lengths) > 0 and not max(lengths) > 100
