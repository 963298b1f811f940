import decimal
import random
import time


def inner(n):
    return 1 // n


print(decimal.Decimal(1) / 3, random.random() < 1, time.perf_counter() > 0)
inner(0)
