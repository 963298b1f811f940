# What a guest does while it waits in the stock (launcher/template.py, launcher/memory.py), which a trace does not keep.
import ctypes
import select

from casemate.launcher import memory

block = ctypes.create_string_buffer(1 << 20)
start = ctypes.addressof(block) // memory.PAGE * memory.PAGE + memory.PAGE
asked = []
memory.prefault([(start, 1 << 18)], lambda: bool(asked.append(select.select([1], [], [], 0)[0]) or asked[-1]))
assert asked == [[]]
result = None
