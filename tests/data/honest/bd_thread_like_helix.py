from build123d import *

pitch, turns, r = 4, 3, 10
helix = Helix(pitch=pitch, height=pitch * turns, radius=r)
profile = Plane(origin=helix @ 0, z_dir=helix % 0) * Circle(1.0)
spring = sweep(profile, path=helix)
result = spring
