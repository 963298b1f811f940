import cadquery as cq


def make_cubes(self, length):
    def _single(loc):
        return cq.Solid.makeBox(length, length, length).located(loc)

    return self.eachpoint(_single, True)


points = cq.Workplane("XY").box(6.0, 8.0, 0.5).faces(">Z").rect(4.0, 4.0, forConstruction=True).vertices()
cubes = make_cubes(points, 1.0)
result = cubes
