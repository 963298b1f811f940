"""Looks for canaries in a process's own memory."""


def scan_memory(limit=256 << 20):
    """Canaries in every readable mapping of this process."""
    found, seen = set(), 0
    with open("/proc/self/maps") as file:
        lines = file.read().splitlines()
    with open("/proc/self/mem", "rb", buffering=0) as memory:
        for line in lines:
            span, rights = line.split()[:2]
            low, high = (int(part, 16) for part in span.split("-"))
            if "r" not in rights or "[v" in line or high - low > limit:
                continue
            with contextlib.suppress(OSError, ValueError):
                memory.seek(low)
                found.update(canaries(memory.read(high - low)))
                seen += high - low
    if not seen:
        raise OSError(errno.EIO, "no memory could be read")
    return sorted(found)
