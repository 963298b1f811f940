import cadquery as cq
import numpy as np

chord = 60.0
x = np.linspace(0.0, 1.0, 25)
yt = 0.6 * (0.2969 * np.sqrt(x) - 0.126 * x - 0.3516 * x**2 + 0.2843 * x**3 - 0.1036 * x**4)
upper = [(float(a) * chord, float(b) * chord) for a, b in zip(x, yt)]
lower = [(p[0], -p[1]) for p in reversed(upper[1:-1])]
rib = cq.Workplane("XY").polyline(upper + lower).close().extrude(3)
result = rib.faces(">Z").workplane(origin=(chord * 0.3, 0, 0)).hole(5)
print("area", np.round(np.trapezoid(yt, x), 4), np.max(yt), yt.shape)
