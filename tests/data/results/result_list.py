import cadquery as cq

base = cq.Workplane().box(10, 10, 2)
pin = cq.Workplane().box(2, 2, 8)
result = [base, pin, cq.Workplane().box(1, 1, 1)]
