import cadquery as cq

p_outerWidth = 100.0
p_outerLength = 150.0
p_outerHeight = 50.0
p_thickness = 3.0
p_sideRadius = 10.0
p_topAndBottomRadius = 2.0
p_screwpostInset = 12.0
p_screwpostID = 4.0
p_screwpostOD = 10.0
p_flipLid = True
p_lipHeight = 1.0

oshell = cq.Workplane("XY").rect(p_outerWidth, p_outerLength).extrude(p_outerHeight + p_lipHeight)
oshell = oshell.edges("|Z").fillet(p_sideRadius)
oshell = oshell.edges("#Z").fillet(p_topAndBottomRadius)
ishell = (
    oshell.faces("<Z")
    .workplane(p_thickness, True)
    .rect((p_outerWidth - 2.0 * p_thickness), (p_outerLength - 2.0 * p_thickness))
    .extrude((p_outerHeight - 2.0 * p_thickness), False)
)
ishell = ishell.edges("|Z").fillet(p_sideRadius - p_thickness)
box = oshell.cut(ishell)

POSTWIDTH = p_outerWidth - 2.0 * p_screwpostInset
POSTLENGTH = p_outerLength - 2.0 * p_screwpostInset
box = (
    box.faces(">Z")
    .workplane(-p_thickness)
    .rect(POSTWIDTH, POSTLENGTH, forConstruction=True)
    .vertices()
    .circle(p_screwpostOD / 2.0)
    .circle(p_screwpostID / 2.0)
    .extrude(-1.0 * (p_outerHeight + p_lipHeight - p_thickness), True)
)
(lid, bottom) = box.faces(">Z").workplane(-p_thickness - p_lipHeight).split(keepTop=True, keepBottom=True).all()
topOfLid = lid.translate((p_outerWidth + p_thickness, 0, p_thickness - p_outerHeight + p_lipHeight))
if p_flipLid:
    topOfLid = topOfLid.rotateAboutCenter((1, 0, 0), 180)
result = topOfLid.union(bottom)
