import cadquery as cq
from ocp_vscode import show, show_object, set_port, Camera

set_port(3939)
shaft = cq.Workplane("XY").circle(5).extrude(40)
collar = cq.Workplane("XY").circle(9).circle(5).extrude(8).translate((0, 0, 10))
show(shaft, collar, names=["shaft", "collar"], colors=["red", "blue"], reset_camera=Camera.KEEP)
