import cadquery as cq

box = cq.Workplane().box(10, 20, 30)
result = cq.Workplane(obj=cq.Shell.makeShell(box.faces("not >Z").vals()))
