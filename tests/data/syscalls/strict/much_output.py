for n in range(20_000):
    print(n, n * n)
raise SystemExit(3)
