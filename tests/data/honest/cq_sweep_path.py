import cadquery as cq

pts = [(0, 1), (1, 2), (2, 4)]
path = cq.Workplane("XZ").spline(pts)
defaultSweep = cq.Workplane("XY").circle(1.0).sweep(path)
frenetShell = cq.Workplane("XY").circle(1.0).sweep(path, makeSolid=True, isFrenet=True)
show_object(defaultSweep)
show_object(frenetShell.translate((5, 0, 0)))
