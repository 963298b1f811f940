"""Looks for what an earlier job left."""


def files_in(top):
    found = []
    for directory, _, names in os.walk(top):
        if directory.startswith("/proc"):
            continue
        for name in names:
            if name.startswith("left-"):
                path = os.path.join(directory, name)
                found.append(path)
                with contextlib.suppress(OSError), open(path, "rb") as file:
                    found += canaries(file.read(4096))
    return found


def by_name(directory):
    return read(os.path.join(directory, CONFIG["name"]))


def other_jobs():
    return [name for name in os.listdir("/tmp") if name.startswith("job-") and name != os.path.basename(os.getcwd())]


def own_heap():
    """Canaries in what the interpreter has freed and gives out again."""
    found = set()
    with open("/proc/self/maps") as file:
        spans = [line.split()[0] for line in file if "[heap]" in line or " rw-p 00000000 00:00 0" in line]
    with open("/proc/self/mem", "rb", buffering=0) as memory:
        for span in spans:
            low, high = (int(part, 16) for part in span.split("-"))
            with contextlib.suppress(OSError, ValueError):
                memory.seek(low)
                found.update(canaries(memory.read(min(high - low, 64 << 20))))
    return sorted(found)


def modules():
    return [name for name in sys.modules if name == "left_behind"]


def shared():
    libc.shmat.restype = ctypes.c_void_p
    number = libc.shmget(0x6C6566, 0, 0)
    if number < 0:
        raise OSError(ctypes.get_errno(), "shmget")
    return canaries(ctypes.string_at(libc.shmat(number, None, 0), 4096))


def used():
    """Bytes on the disk before anything was written, beside its own."""
    left = os.statvfs("/tmp")
    return (
        left.f_blocks - left.f_bfree
    ) * left.f_frsize > 1 << 16 and f"{left.f_blocks - left.f_bfree} blocks are used"


def nothing():
    return ""
