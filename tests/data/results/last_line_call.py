import cadquery as cq


def make(width):
    return cq.Workplane().box(width, 2, 3)


make(5)
