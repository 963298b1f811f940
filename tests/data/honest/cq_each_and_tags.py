import cadquery as cq

result = (
    cq.Workplane("XY")
    .box(30, 30, 5)
    .tag("plate")
    .faces(">Z")
    .workplane()
    .rarray(10, 10, 3, 3)
    .eachpoint(lambda loc: cq.Solid.makeCylinder(2, 5).moved(loc), combine=True)
    .workplaneFromTagged("plate")
    .center(0, 0)
)
result = result.faces("<Z", tag="plate").workplane().hole(5)
names = [tag for tag in sorted(result.ctx.tags)]
