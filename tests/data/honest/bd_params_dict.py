from build123d import *

cfg = dict(width=40, depth=30, height=12)
wall: float = 2.0
outer = Box(cfg["width"], cfg["depth"], cfg["height"])
inner = Pos(0, 0, wall) * Box(cfg["width"] - 2 * wall, cfg["depth"] - 2 * wall, cfg["height"])
tray = outer - inner
keys = {k: v * 2 for k, v in cfg.items() if v > 20}
ids = {round(e.length, 3) for e in tray.edges()}
try:
    tray = fillet(tray.edges().filter_by(Axis.Z), radius=1)
except (ValueError, RuntimeError) as err:
    print("kept sharp:", err)
finally:
    print(len(ids), keys)
