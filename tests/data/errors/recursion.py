def deeper(n):
    return deeper(n + 1)


result = deeper(0)
