"""Time: loops that no signal ends, sleeps that use no CPU, and CPU time of many processes."""

from __future__ import annotations

from casemate.verify.model import Probe
from casemate.verify.tables.rows import CPU, TIME

MINIMUM = 10
_LOOPS = {
    "python": ("loops in Python", "spin(3)\npassed()"),
    "asleep": ("sleeps", "time.sleep(3)\npassed()"),
    "deaf": ("ignores every signal and loops", "deaf()\nspin(3)\npassed()"),
    "native": ("computes in C and never lets the interpreter go", "pow(3, 10 ** 6 * 4)\npassed()"),
    "regex": ("backtracks", "re.match(r'(a+)+$', 'a' * 26 + '!')\npassed()"),
    "child": ("leaves the work to a child", "child(lambda: spin(3), 0)\nos.wait()\npassed()"),
    "stopped": ("stops itself", "child(lambda: None, 3)\nos.kill(os.getpid(), signal.SIGSTOP)\npassed()"),
    "timers": ("sets its own timers and alarms",
               "signal.setitimer(signal.ITIMER_REAL, 0)\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)\ntime.sleep(3)\npassed()"),
    "blocked": ("waits for a pipe", "r, w = os.pipe()\nselect.select([r], [], [], 3)\npassed()"),
}  # fmt: skip
_CPU = {
    "one": ("one process", "burn(2.5)\npassed()"),
    "four": ("four processes, none above a limit of its own", "for _ in range(3): child(lambda: burn(0.7), 0)\nburn(0.7)\nfor _ in range(3): os.wait()\npassed()"),
    "threads": ("threads", "ts = [threading.Thread(target=burn, args=(0.7,)) for _ in range(4)]\nfor t in ts: t.start()\nfor t in ts: t.join()\npassed()"),
    "handler": ("a handler for SIGXCPU", "signal.signal(signal.SIGXCPU, signal.SIG_IGN)\nburn(2.5)\npassed()"),
    "successors": ("one child after the other", "for _ in range(8):\n    child(lambda: burn(0.4), 0)\n    os.wait()\npassed()"),
}  # fmt: skip

PROBES: tuple[Probe, ...] = (
    *(
        Probe(
            f"time.{name}", f"{what} past the deadline", TIME, code, "deadline", "outcome", "time",
            expect="limit wall_time", deadline=1.0,
        )
        for name, (what, code) in _LOOPS.items()
    ),
    *(
        Probe(
            f"time.cpu-{name}", f"uses more CPU time than allowed, by {what}", CPU, code, "cpu-time", "outcome", "time",
            expect="limit cpu_time; cpu 1.5", limits=(("cpu_time", 1.0),), declared=("limits.cpu_time",), deadline=12.0,
        )
        for name, (what, code) in _CPU.items()
    ),
)  # fmt: skip
