import cadquery as cq

base = cq.Workplane().box(10, 10, 2)
lid = cq.Workplane().box(10, 10, 1)
show_object(base, name="Base Plate")
show_object(lid, "lid")
show_object(cq.Workplane().box(1, 1, 1), name="pin", options={"color": "red"})
