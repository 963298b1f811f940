import cadquery as cq

r = cq.Workplane("front").circle(2.0)  # make base
r = r.pushPoints([(1.5, 0), (0, 1.5), (-1.5, 0), (0, -1.5)])  # now four points are on the stack
r = r.circle(0.25)  # circle will operate on all four points
result = r.extrude(0.125)
for f in result.faces().vals():
    if f.geomType() == "CYLINDER":
        continue
    assert f.Area() > 0
wall = result.faces("%CYLINDER").size()
edges = [e for e in result.edges().vals() if e.geomType() == "CIRCLE" and e.radius() < 1]
print(len(edges), wall, max(edges, key=lambda e: e.Length()).Length())
