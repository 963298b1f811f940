rows = [[float(i * j) for j in range(600)] for i in range(600)]
table = {str(n): n for n in range(300_000)}
text = "ab" * 5_000_000
block = bytearray(60_000_000)
block.extend(bytes(60_000_000))
del block, text
numbers = list(range(4_000_000))
numbers.extend(range(4_000_000))
print(sum(map(sum, rows)), len(table), sum(numbers), file=__import__("sys").stderr)
del rows, table, numbers
