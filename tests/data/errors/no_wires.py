import cadquery as cq


def post(height):
    return cq.Workplane().extrude(height)


result = post(3)
