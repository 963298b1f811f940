import os

import build123d as b3d
import cadquery as cq

part = cq.Workplane().box(20, 10, 5).faces(">Z").workplane().hole(4)
for name in ("a.step", "a.stl", "a.svg", "a.dxf", "a.amf", "a.tjs", "a.vrml", "a.3mf", "a.brep", "a.bin"):
    try:
        cq.exporters.export(part, name)
    except Exception as error:  # vtk is a stub in the image; a DXF is of a section only
        print(name, type(error).__name__)
cq.exporters.export(part.section(), "section.dxf")
assembly = cq.Assembly(name="two").add(part, name="one", color=cq.Color("red"))
for name in ("b.step", "b.xml", "b.gltf", "b.glb", "b.stl", "b.vrml"):
    try:
        assembly.export(name)
    except Exception as error:
        print(name, type(error).__name__)
assert cq.importers.importStep("a.step").solids().size() == 1
assert cq.importers.importDXF("section.dxf").wires().size() > 0
assert cq.importers.importBrep("a.brep").solids().size() == 1

box = b3d.Box(3, 4, 5)
b3d.export_step(box, "c.step")
b3d.export_stl(box, "c.stl")
b3d.export_brep(box, "c.brep")
b3d.export_gltf(box, "c.glb", binary=True)
assert b3d.import_step("c.step").volume > 59
assert b3d.import_brep("c.brep").volume > 59
assert b3d.import_stl("c.stl")
drawing = b3d.ExportSVG()
drawing.add_shape(b3d.Rectangle(3, 4).edges())
drawing.write("c.svg")
assert b3d.import_svg("c.svg")
paper = b3d.ExportDXF()
paper.add_shape(b3d.Rectangle(3, 4).edges())
paper.write("c.dxf")
mesher = b3d.Mesher()
mesher.add_shape(box)
mesher.write("c.3mf")
print(sorted(os.listdir(".")))
result = part
