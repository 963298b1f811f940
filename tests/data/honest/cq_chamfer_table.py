import cadquery as cq

SIZES = {"M3": (3.4, 6.5, 3.0), "M4": (4.5, 8.0, 4.4), "M5": (5.5, 10.0, 5.4)}
plate = cq.Workplane("XY").box(90, 30, 8)
for i, (name, (d, cbd, cbh)) in enumerate(sorted(SIZES.items())):
    x = (i - 1) * 28
    plate = plate.faces(">Z").workplane(origin=(x, 0, 0)).cboreHole(d, cbd, cbh)
    print("%-4s %5.2f" % (name, d))
plate = plate.edges("|Z").chamfer(2)
plate.val().exportStep("plate.step")
