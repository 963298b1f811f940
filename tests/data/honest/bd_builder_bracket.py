from build123d import *
from ocp_vscode import *

with BuildPart() as bracket:
    with BuildSketch(Plane.XZ) as profile:
        with BuildLine() as outline:
            Polyline((0, 0), (40, 0), (40, 5), (5, 5), (5, 30), (0, 30), (0, 0))
        make_face()
    extrude(amount=20, both=True)
    fillet(bracket.edges().filter_by(Axis.Y).sort_by(Axis.X)[1], radius=3)
    with Locations(bracket.faces().sort_by(Axis.X)[0]):
        with GridLocations(20, 15, 2, 1):
            CounterSinkHole(radius=2, counter_sink_radius=4)

show(bracket, reset_camera=Camera.RESET)
set_port(3939)
