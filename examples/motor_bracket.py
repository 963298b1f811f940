"""An angle bracket for a NEMA 17 stepper motor: four M3 screws on a 31 mm square around a 22 mm pilot."""

import cadquery as cq

width = 50.0
depth = 40.0
height = 50.0
thickness = 5.0

pilot = 22.5  # the motor's 22 mm boss, with clearance
pitch = 31.0
m3 = 3.4  # clearance hole
axis = 27.5  # height of the motor's axis: centred on what stands above the foot

foot = cq.Workplane("XY").box(width, depth, thickness, centered=(True, False, False))
upright = cq.Workplane("XY").box(width, thickness, height, centered=(True, False, False))

slots = cq.Workplane("XY").center(0, 25).pushPoints([(-15, 0), (15, 0)]).slot2D(12, 5.5, 90).extrude(thickness)

motor_face = cq.Workplane("XZ", origin=(0, 0, axis))
bore = motor_face.circle(pilot / 2).extrude(-thickness)
screws = motor_face.rect(pitch, pitch, forConstruction=True).vertices().circle(m3 / 2).extrude(-thickness)

result = foot.union(upright).cut(slots).cut(bore).cut(screws)
