# Ein Flansch mit Bohrungen — Maße in mm
import cadquery as cq

größe = 40.0  # Außenmaß
Δx = 5
厚度 = 6
ø = "Ø%.1f µm² ½" % größe
result = cq.Workplane("XY").rect(größe, größe).extrude(厚度).faces(">Z").workplane().center(Δx, 0).hole(8)
print(f"Größe: {größe:>8.2f} {ø}")
