from build123d import *

a = Box(1, 1, 1)
b = Box(2, 2, 2)
show(a, b, names=["first", "second"])
