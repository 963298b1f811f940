from build123d import *

with BuildSketch() as sk:
    Rectangle(60, 40)
    with GridLocations(40, 20, 2, 2):
        Circle(4, mode=Mode.SUBTRACT)
    fillet(sk.vertices().group_by(Axis.X)[-1], radius=6)
    chamfer(sk.vertices().group_by(Axis.X)[0], length=3)
part = extrude(sk.sketch, amount=5)
print(part.volume, sk.sketch.area)
