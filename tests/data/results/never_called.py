import cadquery as cq


def build():
    return cq.Workplane().box(1, 1, 1)
