"""A flanged bearing seat in build123d's algebra mode: parts are added, subtracted and placed like numbers."""

from build123d import *

length, width, thickness = 80, 50, 8
tube_radius, bore_radius, tube_height = 15, 10, 20

plate = fillet(Box(length, width, thickness).edges().filter_by(Axis.Z), radius=6)
plate -= GridLocations(60, 30, 2, 2) * Cylinder(radius=3, height=thickness)

tube = Pos(0, 0, (thickness + tube_height) / 2) * Cylinder(tube_radius, tube_height)

part = plate + tube - Cylinder(bore_radius, 100)
