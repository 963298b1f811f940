import cadquery as cq


class Bracket:
    def __init__(self, width):
        self.width = width

    def build(self):
        return cq.Workplane().box(self.width, 2, self.height)

    def raise_to(self, height):
        self.height = height


result = Bracket(3).build()
