import cadquery as cq
import math

m, z, b = 2.0, 10, 8.0
alpha = math.radians(20)
r_p = m * z / 2
r_b = r_p * math.cos(alpha)
r_a = r_p + m
r_f = r_p - 1.25 * m


def involute(r_base, t):
    return (r_base * (math.cos(t) + t * math.sin(t)), r_base * (math.sin(t) - t * math.cos(t)))


def rot(p, a):
    return (p[0] * math.cos(a) - p[1] * math.sin(a), p[0] * math.sin(a) + p[1] * math.cos(a))


t_max = math.sqrt((r_a / r_b) ** 2 - 1)
flank = [involute(r_b, t_max * i / 4) for i in range(5)]
half = math.pi / (2 * z) + math.tan(alpha) - alpha
left = [rot(p, -half) for p in flank]
right = [(x, -y) for (x, y) in left]
root = [rot((r_f - 0.5, 0), -half), rot((r_f - 0.5, 0), half)]
tooth = cq.Workplane("XY").polyline([root[0]] + left + right[::-1] + [root[1]]).close().extrude(b)
gear = cq.Workplane("XY").circle(r_f + 0.01).extrude(b)
for k in range(z):
    gear = gear.union(tooth.rotate((0, 0, 0), (0, 0, 1), 360.0 * k / z))
result = gear.faces(">Z").workplane().hole(5)
