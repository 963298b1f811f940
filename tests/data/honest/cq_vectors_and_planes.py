import cadquery as cq

v = cq.Vector(1, 2, 3)
u = v.cross(cq.Vector(0, 0, 1)).normalized()
pl = cq.Plane(origin=(0, 0, 10), xDir=(1, 0, 0), normal=(0, 0, 1))
pl = pl.rotated((10, 0, 0))
body = cq.Workplane(pl).rect(20, 20).extrude(5)
center = body.val().BoundingBox().center
print(f"{center.x:.1f} {v.Length:.3f} {u.toTuple()!r:>40}")
moved = body.val().moved(cq.Location(cq.Vector(0, 0, 5), cq.Vector(0, 0, 1), 45))
result = cq.Workplane(obj=moved)
