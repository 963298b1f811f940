"""Fork bombs, and what tries to stay when its execution is over."""

from __future__ import annotations

from casemate.verify.model import Probe
from casemate.verify.tables.rows import PROCESSES, SURVIVAL

MINIMUM = 20
_LIMITS = (("processes", 16),)
_ENOUGH = 40
_BOMBS = {
    "forks": ("forks", f"take(lambda n: child(lambda: None), {_ENOUGH})"),
    "threads": (
        "starts threads",
        f"take(lambda n: threading.Thread(target=time.sleep, args=(20,), daemon=True).start(), {_ENOUGH})\nos._exit(0)",
    ),
    "zombies": ("leaves zombies", f"take(lambda n: os.fork() or os._exit(0), {_ENOUGH})"),
    "from-threads": (
        "forks from threads",
        f"take(lambda n: (threading.Thread(target=time.sleep, args=(20,), daemon=True).start(), child(lambda: None)),"
        f" {_ENOUGH // 2})\nos._exit(0)",
    ),
    "grandchildren": (
        "forks children that fork",
        f"take(lambda n: child(lambda: child(lambda: None)), {_ENOUGH // 2})",
    ),
    "sessions": ("forks children in sessions of their own", f"take(lambda n: child(deaf), {_ENOUGH})"),
}
_STAY = {
    "daemon": ("leaves a daemon", "left()"),
    "deaf-daemon": ("leaves a daemon that ignores every signal", "left(deaf)"),
    "stopped": ("leaves a process that is stopped", "left(lambda: os.kill(os.getpid(), signal.SIGSTOP))"),
    "spinning": ("leaves a process that spins", "left(spin)"),
    "forking": (
        "leaves a process that forks again and again",
        "left(lambda: [os.fork() and os._exit(0) for _ in range(100000)])",
    ),
    "waiting-child": ("leaves a child that holds its output", "child(lambda: None, 60)\ntell(NAME, refused='left')"),
    "thread": (
        "leaves a child with threads",
        "left(lambda: [threading.Thread(target=spin).start() for _ in range(3)])",
    ),
    "blocked-in-read": ("leaves a process that waits for ever", "left(lambda: os.read(os.pipe()[0], 1))"),
    "tracing-stop": (
        "leaves a process in a signal's default stop",
        "left(lambda: os.kill(os.getpid(), signal.SIGTSTP))",
    ),
    "many": ("leaves ten daemons", "for _ in range(10): left()"),
    "sudden-end": ("leaves a daemon and ends at once", "left()\nos._exit(0)"),
}
_ENDS = {
    "after-signal": ("leaves a daemon and kills itself", "left()\nos.kill(os.getpid(), 9)", "signaled 9", 10.0),
    "after-deadline": ("leaves a daemon and runs out of time", "left()\ntime.sleep(4)\npassed()", "limit wall_time", 1.5),
    "after-segfault": ("leaves a daemon and crashes", "left()\nctypes.string_at(0)", "signaled 11", 10.0),
    "after-cancel": ("leaves a daemon and is cancelled", "left()\ntime.sleep(4)\npassed()", "cancelled", 10.0),
}  # fmt: skip

PROBES: tuple[Probe, ...] = (
    *(
        Probe(
            f"processes.{name}", f"{what} without end", PROCESSES, code, "pids", "outcome", "processes",
            expect="exited; refused EAGAIN; tasks 16", limits=_LIMITS,
        )
        for name, (what, code) in _BOMBS.items()
    ),
    *(
        Probe(f"processes.left-{name}", what, SURVIVAL, code, "kill", "census", "processes", expect="exited")
        for name, (what, code) in _STAY.items()
    ),
    *(
        Probe(
            f"processes.left-{name}", what, SURVIVAL, code, "kill", "census", "processes", expect=how, deadline=seconds
        )
        for name, (what, code, how, seconds) in _ENDS.items()
    ),
)  # fmt: skip
