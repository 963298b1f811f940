import cadquery as cq
import ocp_vscode as viewer
from ocp_vscode import show as display_part, set_defaults, Collapse

set_defaults(collapse=Collapse.LEAVES, axes=True)
viewer.set_port(3939)
body = cq.Workplane().sphere(10).cut(cq.Workplane().box(30, 4, 30))
lid = cq.Workplane().circle(4).extrude(2)
display_part(body, lid, names=["body", "lid"])
viewer.reset_show()
