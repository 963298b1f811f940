import cadquery as cq


class Hinge:
    def __init__(self, width):
        self.width = width
        self.blank = cq.Workplane().box(width, 9, 9)
        self.part = cq.Workplane().box(width, 2, 1)


hinge = Hinge(7)
