import cadquery as cq

result = cq.Workplane("XY").rect(10, 10).extrude(10)
result = result.faces(cq.NearestToPointSelector((0, 0, 5))).workplane().circle(2).cutBlind(-3)
result = result.edges("|Z and >X").fillet(1)
result = result.faces(cq.DirectionMinMaxSelector(cq.Vector(0, 0, 1), False)).chamfer(0.2)
inside = result.edges(cq.selectors.BoxSelector((-3, -3, 1), (3, 3, 6)))
print(result.val().isValid(), result.solids().size(), inside.size())
