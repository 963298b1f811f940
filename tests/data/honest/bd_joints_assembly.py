import copy
from build123d import *

hinge = Box(30, 20, 4)
RigidJoint("top", hinge, Location((0, 0, 2)))
post = Cylinder(5, 20)
RigidJoint("bottom", post, Location((0, 0, -10)))
hinge.joints["top"].connect_to(post.joints["bottom"])
hinge.label, post.label = "base", "post"
second = copy.copy(post)
second.location = Location((12, 0, 12))
second.label = "second"
assembly = Compound(label="assembly", children=[hinge, post, second])
print(assembly.show_topology())
