from build123d import *

bez = Bezier((0, 0), (10, 25), (30, 25), (40, 0))
chord = Line(bez @ 1, bez @ 0)
wing = extrude(make_face(Curve() + [bez, chord]), 10)
foil = Airfoil("2412")
print(foil.length > 0, wing.volume)
