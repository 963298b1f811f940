import cadquery as cq

rack = cq.Assembly(name="rack")
for number in range(70):
    rack.add(cq.Workplane().box(1, 1, 1), name=f"pin_{number}", loc=cq.Location(cq.Vector(2 * number, 0, 0)))
result = rack
