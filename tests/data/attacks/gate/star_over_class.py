# own class, then a star rebinding its name: a class derived from a library class
class Box:
    def __init__(self):
        pass
from build123d import *
class Mine(Box):
    def _add_x(self):
        pass
print(Mine)
m = Box(1, 2, 3)
result = m
