import cadquery as cq
from cadquery import exporters

result = cq.Workplane("XY").circle(10).extrude(5).faces(">Z").workplane().hole(4)
exporters.export(result, "washer.step")
exporters.export(result, "washer.svg", exporters.ExportTypes.SVG, opt={"width": 300, "height": 300, "showAxes": False})
result.val().exportStl("washer.stl", tolerance=0.01)
