import math

area = math.pi * 4
