"""Reaches for the process above, the first of the execution; the host sees what became of it."""

import resource


def limited():
    resource.prlimit(1, resource.RLIMIT_NOFILE, (77, 77))
    return "limited"


def pinned():
    os.sched_setaffinity(1, {min(os.sched_getaffinity(0))})
    return "pinned"


def reprioritised():
    os.setpriority(os.PRIO_PROCESS, 1, 5)
    return "less nice"


def traced():
    return f"PTRACE_SEIZE gave {call('ptrace', 0x4206, 1, 0, 0)}"


def interrupted():
    """Every signal that a handler could have been left for."""
    for number in range(1, 32):
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            with contextlib.suppress(OSError):
                os.kill(1, number)
    rest(0.3)
    tell(NAME, refused="survived")
