import cadquery as cq
from typing import List, Optional, Tuple


class Bracket:
    """An L bracket with parametric dimensions."""

    DEFAULT_THICKNESS = 4.0

    def __init__(self, width: float, height: float, depth: float, thickness: Optional[float] = None):
        self.width = width
        self.height = height
        self.depth = depth
        self.thickness = thickness or self.DEFAULT_THICKNESS
        self._holes: List[Tuple[float, float]] = []
        self.base = None

    def add_hole_pattern(self, *positions):
        for position in positions:
            self._holes.append(position)
        return self

    def _make_base(self):
        self.base = cq.Workplane("XY").box(self.width, self.depth, self.thickness, centered=(True, True, False))
        if self._holes:
            self.base = self.base.faces(">Z").workplane().pushPoints(self._holes).hole(4)
        return self.base

    def build(self):
        back = cq.Workplane("XZ").workplane(offset=-self.depth / 2).rect(self.width, self.height).extrude(self.thickness)
        back = back.translate((0, 0, self.height / 2))
        return self._make_base().union(back)


class Gusseted(Bracket):
    def __init__(self, width, height, depth, rib=3.0):
        super().__init__(width, height, depth)
        self.rib = rib

    def build(self):
        body = super().build()
        rib = (
            cq.Workplane("YZ")
            .polyline([(0, 0), (self.depth / 2, 0), (0, self.height / 2)])
            .close()
            .extrude(self.rib / 2, both=True)
        )
        return body.union(rib)


result = Gusseted(40, 50, 30).add_hole_pattern((-10, 5), (10, 5)).build()
