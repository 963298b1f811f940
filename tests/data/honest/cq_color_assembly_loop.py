import cadquery as cq
import math

assembly = cq.Assembly(name="rack")
colors = ["red", "green", "blue", "gray"]
for index in range(4):
    angle = math.tau * index / 4
    loc = cq.Location(cq.Vector(30 * math.cos(angle), 30 * math.sin(angle), 0), cq.Vector(0, 0, 1), math.degrees(angle))
    shelf = cq.Workplane().box(20, 8, 2 + index)
    assembly.add(shelf, loc=loc, name=f"shelf_{index}", color=cq.Color(colors[index % len(colors)]))
assembly.export("rack.step")
assembly.children[0].color = cq.Color(0.2, 0.4, 0.6)
combined = assembly.toCompound()
print(len(combined.Solids()), [child.name for child in assembly.children])
