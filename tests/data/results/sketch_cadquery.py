import cadquery as cq

result = cq.Sketch().rect(4, 3).vertices().fillet(0.5)
