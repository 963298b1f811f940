import cadquery as cq

part = cq.Workplane("XY").circle(12).extrude(3)
part = part.faces(">Z").workplane().polygon(6, 10).cutThruAll()
try:
    show_object(part)
except NameError:
    print("no viewer")
log("done")
if __name__ == "__cq_main__" or "show_object" in locals():
    debug(part, name="nut")
