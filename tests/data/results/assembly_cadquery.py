import cadquery as cq

plate = cq.Workplane().box(20, 20, 2)
peg = cq.Workplane().box(2, 2, 6)
pegs = cq.Assembly(name="pegs").add(peg, name="left").add(peg, name="right", loc=cq.Location(cq.Vector(6, 0, 0)))
assy = cq.Assembly(name="stand")
assy.add(plate, name="plate", color=cq.Color("red"))
assy.add(pegs, name="pegs", loc=cq.Location(cq.Vector(0, 0, 4)))
