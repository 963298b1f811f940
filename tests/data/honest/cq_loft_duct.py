import cadquery as cq

outer = cq.Workplane("XY").rect(40, 30).workplane(offset=50).circle(15).loft(combine=True)
inner = cq.Workplane("XY").rect(36, 26).workplane(offset=50).circle(13).loft(combine=True)
duct = outer.cut(inner)
result = duct.faces("<Z").workplane().rect(60, 50).rect(36, 26).extrude(3)
