import cadquery as cq
import numpy as np

generator = np.random.default_rng(7)
matrix = generator.normal(size=(600, 600))
solved = np.linalg.solve(matrix @ matrix.T + np.eye(600), np.ones(600))
np.linalg.svd(matrix[:200, :200])
np.linalg.eigh(matrix[:100, :100] + matrix[:100, :100].T)
np.fft.fft(matrix)
np.polyfit(np.arange(20.0), np.arange(20.0) ** 2, 2)
big = [np.zeros(4_000_000) for _ in range(8)]
for array in big:
    array += 1
big = big[:2]
text = "x"
for _ in range(23):
    text += text
numbers = list(range(3_000_000))
numbers.extend(range(3_000_000))
del numbers, text
print(float(solved.sum()), np.array2string(matrix[:2, :2]))
np.save("matrix.npy", matrix)
assert np.load("matrix.npy").shape == (600, 600)
assert np.load("matrix.npy", mmap_mode="r").shape == (600, 600)
result = cq.Workplane().box(1, 2, 3)
