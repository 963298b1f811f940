"""Pipe flange with a bolt circle, as a model would write it."""
import cadquery as cq
import math


def make_flange(od: float, id: float, thickness: float, bolt_circle: float, n_bolts: int = 8, bolt_d: float = 9.0) -> cq.Workplane:
    """Create a flange.

    Args:
        od: outer diameter
        id: inner diameter
    """
    if od <= id:
        raise ValueError(f"outer diameter {od} must exceed inner diameter {id}")
    flange = cq.Workplane("XY").circle(od / 2).circle(id / 2).extrude(thickness)
    return flange.faces(">Z").workplane().polarArray(bolt_circle / 2, 0, 360, n_bolts).hole(bolt_d)


def main():
    flange = make_flange(od=150, id=50, thickness=16, bolt_circle=110)
    hub = cq.Workplane("XY").workplane(offset=16).circle(40).circle(25).extrude(20)
    return flange.union(hub)


if __name__ == "__main__":
    result = main()
    bb = result.val().BoundingBox()
    print("size", round(bb.xlen, 3), round(bb.ylen, 3), round(bb.zlen, 3))
    expected = math.pi * (75**2 - 25**2) * 16
    assert result.val().Volume() < expected * 2, "too much material"
