"""Phone stand, model-written."""
from build123d import *
import math
from typing import Union


def create_stand(width: float = 70, depth: float = 80, angle: float = 65, thickness: float = 4) -> Part:
    rad = math.radians(angle)
    back = 90.0
    pts = [
        (0.0, 0.0),
        (depth, 0.0),
        (depth, thickness),
        (thickness * 2, thickness),
        (thickness * 2 + back * math.cos(rad), thickness + back * math.sin(rad)),
        (back * math.cos(rad), back * math.sin(rad) + thickness),
    ]
    with BuildPart() as stand:
        with BuildSketch(Plane.XZ):
            with BuildLine():
                Polyline(*pts, close=True)
            make_face()
        extrude(amount=width / 2, both=True)
    return stand.part


part = create_stand()
if part.is_valid:
    print(f"volume: {part.volume:,.1f} mm³")
if __name__ == "__main__":
    export_step(part, "stand.step")
