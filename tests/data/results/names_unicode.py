import cadquery as cq

show_object(cq.Workplane().box(1, 1, 1), name="Gehäuse/../oben")
show_object(cq.Workplane().box(2, 2, 2), name="部品")
show_object(cq.Workplane().box(3, 3, 3), name="..hidden")
