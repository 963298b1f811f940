"""A raised-face pipe flange with four bolts on a 125 mm circle (the size of DN 50, PN 16)."""

import cadquery as cq

outer = 165.0
thickness = 20.0
face = 102.0
face_height = 3.0
bore = 61.5
bolt_circle = 125.0
bolts = 4
bolt_hole = 18.0

result = (
    cq.Workplane("XY")
    .circle(outer / 2)
    .extrude(thickness)
    .faces(">Z")
    .workplane()
    .circle(face / 2)
    .extrude(face_height)
    .faces("<Z")
    .workplane()
    .hole(bore)
    .faces("<Z")
    .workplane()
    .polarArray(bolt_circle / 2, 45, 360, bolts)
    .hole(bolt_hole)
)
