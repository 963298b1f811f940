import cmath
import fractions
import math
import statistics

primes = [n for n in range(2, 2000) if all(n % d for d in range(2, math.isqrt(n) + 1))]
print(len(primes), sum(primes), math.pi, math.factorial(300) % 10**9, cmath.sqrt(-1))
print(fractions.Fraction(1, 3) + fractions.Fraction(1, 6), statistics.mean(primes), statistics.stdev(primes))
print(2**20000 % (10**9 + 7), sum(1 / (n * n) for n in range(1, 200_000)), hash((1, 2)), round(2.5), divmod(-7, 3))
