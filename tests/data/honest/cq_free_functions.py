from cadquery.func import *

s = sphere(10)
b = box(12, 12, 8).moved(z=-4)
c = cylinder(2, 30).moved(z=-15)
body = fuse(s, b)
result = cut(body, c)
print(result.Volume(), result.isValid())
