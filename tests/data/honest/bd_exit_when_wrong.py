from build123d import *

thickness = 3
if thickness <= 0:
    print("thickness must be positive")
    exit()
with BuildPart() as p:
    Box(20, 20, thickness)
    try:
        fillet(p.edges(), radius=thickness)
    except Exception:
        fillet(p.edges().filter_by(Axis.Z), radius=1)
result = p.part
if not result.is_valid:
    raise SystemExit(1)
