from build123d import *


class Washer:
    """Sizes of one washer; ISO 7089."""

    sizes = {"M4": (4.3, 9.0, 0.8), "M5": (5.3, 10.0, 1.0), "M6": (6.4, 12.0, 1.6)}

    def __init__(self, size="M5"):
        self.size = size
        self.inner_diameter, self.outer_diameter, self.height = self.sizes[size]
        self._cache = None
        self.data = []

    def solid(self):
        if self._cache is None:
            with BuildPart() as w:
                Cylinder(self.outer_diameter / 2, self.height)
                Hole(self.inner_diameter / 2)
            self._cache = w.part
            self.data.append(self.size)
        return self._cache

    def weight(self, rho=7.85e-3):
        return self.solid().volume * rho


washers = [Washer(s) for s in sorted(Washer.sizes)]
x = 0.0
placed = []
for w in washers:
    placed.append(Pos(x + w.outer_diameter / 2, 0, 0) * w.solid())
    x += w.outer_diameter + 2
    print(f"{w.size}: {w.weight():.3f} g {w.data}")
result = Compound(children=placed)
