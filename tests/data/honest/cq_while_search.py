import cadquery as cq

target = 1500.0
side = 8.0
step = 2.0
volume = 0.0
iterations = 0
while abs(volume - target) > 1.0 and iterations < 200:
    part = cq.Workplane().box(side, side, side).edges("|Z").fillet(side * 0.1)
    volume = part.val().Volume()
    if (volume < target) != (step > 0):
        step = -step / 2
    side += step
    iterations += 1
result = part
