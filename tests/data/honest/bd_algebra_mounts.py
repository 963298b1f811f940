from build123d import *

a, b, c = 40, 30, 6
plate = Box(a, b, c)
for loc in GridLocations(30, 20, 2, 2):
    plate -= loc * Cylinder(2, c)
plate = fillet(plate.edges().filter_by(Axis.Z), 3)
boss = Pos(0, 0, c / 2) * Cylinder(8, 10, align=(Align.CENTER, Align.CENTER, Align.MIN))
rib = Plane.XZ * Pos(0, 8) * extrude(Rectangle(4, 10), 2, both=True)
result = plate + boss + rib - Rot(0, 0, 45) * Box(5, 5, 60)
result.label = "mount"
result.color = Color("steelblue")
show_object(result, name="mount")
