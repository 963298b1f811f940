from build123d import *

bracket = Box(10, 20, 30) - Cylinder(2, 40)
export_step(bracket, "bracket.step")
