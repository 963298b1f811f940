from build123d import *

result = Box(1, 1, 1).cutThruAll()
