"""The turned blank of a spur gear, module 2 with 40 teeth: hub, bore and keyway, ready for hobbing."""

import cadquery as cq

module = 2.0
teeth = 40
face_width = 20.0

hub_diameter = 40.0
hub_length = 15.0
bore = 20.0
key_width = 6.0  # for a 20 mm shaft
key_depth = 2.8

outside_diameter = module * (teeth + 2)
length = face_width + hub_length

rim = cq.Workplane("XY").circle(outside_diameter / 2).extrude(face_width).faces("<Z or >Z").edges().chamfer(1.0)
hub = cq.Workplane("XY", origin=(0, 0, face_width)).circle(hub_diameter / 2).extrude(hub_length)
shaft = cq.Workplane("XY").circle(bore / 2).extrude(length)
key = cq.Workplane("XY").box(key_width, bore / 2 + key_depth, length, centered=(True, False, False))

result = rim.union(hub).cut(shaft).cut(key)
