import cadquery as cq

try:
    from ocp_vscode import show_object
except ImportError:
    def show_object(*args, **kwargs):
        pass

result = cq.Workplane("XY").box(10, 20, 30).edges().fillet(1)
show_object(result, name="block", options={"alpha": 0.5})
