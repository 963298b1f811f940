from build123d import BuildPart, BuildSketch, Circle, Mode, Rectangle, extrude
from build123d.exporters3d import export_step as write_step
from ocp_vscode import show_object, set_viewer_config

with BuildPart() as frame:
    with BuildSketch():
        Rectangle(50, 30)
        Circle(10, mode=Mode.SUBTRACT)
    extrude(amount=3)
write_step(frame.part, "frame.step")
set_viewer_config(transparent=True)
show_object(frame, name="frame")
