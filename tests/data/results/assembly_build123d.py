from build123d import *

lid = Pos(0, 0, 10) * Box(8, 8, 1)
lid.label = "lid"
base = Box(8, 8, 4)
base.label = "base"
result = Compound(label="case", children=[base, lid])
