import gc
import mmap

block = bytearray(100_000_000)
block.extend(bytes(100_000_000))
del block
numbers = list(range(6_000_000))
numbers.extend(range(6_000_000))
with mmap.mmap(-1, 1 << 20) as shared:
    shared.resize(1 << 21)
    shared.madvise(mmap.MADV_DONTNEED)
text = "x"
for _ in range(24):
    text += text
del numbers, text
gc.collect()
