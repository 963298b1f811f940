import build123d as bd

positions = [bd.Location((x * 15, y * 15, 0)) for x in range(3) for y in range(2) if (x, y) != (1, 0)]
base = bd.Box(60, 40, 3)
for index, loc in enumerate(positions):
    base += loc * bd.Pos(0, 0, 3) * bd.Cylinder(radius=2 + index * 0.3, height=6)
result = base.moved(bd.Location((0, 0, 0), (0, 0, 30)))
bd.export_step(result, f"studs_{len(positions)}.step")
