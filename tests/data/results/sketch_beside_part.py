import cadquery as cq

result = cq.Sketch().rect(4, 3)
plate = cq.Workplane().placeSketch(result).extrude(2)
