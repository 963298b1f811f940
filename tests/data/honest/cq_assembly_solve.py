import cadquery as cq

plate = cq.Workplane().box(10, 10, 1).faces(">Z").workplane().hole(2)
cone = cq.Workplane(cq.Solid.makeCone(1, 0, 2))

assy = cq.Assembly()
assy.add(plate, name="plate", color=cq.Color("green"))
assy.add(cone, name="cone", color=cq.Color("blue"))
assy.constrain("plate@faces@>Z", "cone@faces@<Z", "Plane")
assy.solve()
for name, child in assy.objects.items():
    print(name, child.loc.toTuple())
assy.save("assembly.step")
