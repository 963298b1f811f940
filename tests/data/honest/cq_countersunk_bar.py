import cadquery as cq
import random

random.seed(4)
n = 6
length = 20 * n
bar = cq.Workplane().box(length, 16, 6)
x = [-length / 2 + 10 + 20 * i for i in range(n)]
holes = list(zip(x, [random.choice([-2, 0, 2]) for _ in x]))
bar = bar.faces(">Z").workplane().pushPoints(holes).cskHole(4, 8, 82)
total, i = 0, 0
while True:
    if i >= len(holes):
        break
    if holes[i][1] == 0:
        i += 1
        continue
    total += abs(holes[i][1])
    i += 1
else:
    total = -1
result = bar if not total < 0 else None
