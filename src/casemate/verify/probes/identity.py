"""Asks the kernel who we are; each claim is compared with what the host's /proc says."""


def status_of(name):
    for line in read("/proc/self/status").splitlines():
        key, _, value = line.partition(":")
        if key == name:
            return value.strip()
    raise RuntimeError(f"no {name} in status")


def wrong_ids():
    """Ids that are not the guest's."""
    ids = {*os.getresuid(), *os.getresgid()} - {1000}
    return ids and sorted(ids)


def capability(name):
    return int(status_of(name), 16)


def become(uid):
    os.setresuid(uid, uid, uid)
    return f"became {uid}"


def lock_memory():
    if libc.mlock(ctypes.create_string_buffer(1 << 16), ctypes.c_size_t(1 << 16)):
        raise OSError(ctypes.get_errno(), "mlock")
    return "locked"


def reprioritised():
    os.nice(3)
    return "less nice"


def scheduled():
    os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    return "a batch process"


def pinned():
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    return "pinned to one core"


def set_oom():
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("1")
    return "set"


def odd_signals():
    """Blocked or ignored, beside the two that our own runner ignores."""
    ignored = int(status_of("SigIgn"), 16) & ~(1 << 12 | 1 << 24 | 0b11 << 31)
    return ignored | int(status_of("SigBlk"), 16)


def limitless(text):
    for line in read("/proc/self/limits").splitlines():
        if line.startswith(text):
            return "unlimited" in line[len(text) :].split()[:2] and line
    raise RuntimeError(f"no {text}")


def in_namespace(kind):
    """Only the host can say."""
    return ""
