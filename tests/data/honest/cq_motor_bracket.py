#!/usr/bin/env python3
# -*- coding: utf-8 -*-
"""NEMA 17 motor bracket."""
from __future__ import annotations

import cadquery as cq

PARAMS = {
    "plate": 50.0,
    "thickness": 5.0,
    "pilot": 22.5,
    "pitch": 31.0,
    "screw": 3.4,
}


def motor_plate(plate, thickness, pilot, pitch, screw):
    return (
        cq.Workplane("XY")
        .box(plate, plate, thickness)
        .faces(">Z")
        .workplane()
        .hole(pilot)
        .faces(">Z")
        .workplane()
        .rect(pitch, pitch, forConstruction=True)
        .vertices()
        .hole(screw)
        .edges("|Z")
        .fillet(3)
    )


plate = motor_plate(**PARAMS)
foot = cq.Workplane("XY").box(50, 5, 30).translate((0, -PARAMS["plate"] / 2 + 2.5, 15))
foot = foot.faces("<Y").workplane(centerOption="CenterOfBoundBox").pushPoints([(-15, 5), (15, 5)]).cboreHole(4.5, 8, 2)
result = plate.union(foot)
if "show_object" in globals():
    show_object(result, name="bracket", options={"color": "gray"})
