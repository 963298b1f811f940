import cadquery as cq

block = cq.Workplane().box(4, 4, 4)
show_object(block)
show_object(block.val(), name="again")
