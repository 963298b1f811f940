"""Time: loops that no signal ends, sleeps that use no CPU, and CPU time of many processes."""

from __future__ import annotations

from casemate.verify.model import Probe
from casemate.verify.tables.rows import CPU, TIME, slug

MINIMUM = 10
_LOOPS = {
    "python": "loops in Python", "asleep": "sleeps", "without_signals": "ignores every signal and loops",
    "native": "computes in C and never lets the interpreter go", "regex": "backtracks",
    "in_a_child": "leaves the work to a child", "stopped": "stops itself", "own_timers": "sets timers of its own",
    "blocked": "waits for a lock",
}  # fmt: skip
_CPU = {
    "cpu_one": "one process", "cpu_four": "four processes, none above a limit of its own", "cpu_threads": "threads",
    "cpu_handler": "a handler for SIGXCPU", "cpu_successors": "one child after the other",
}  # fmt: skip
_NEEDS = {
    "asleep": ("clock_nanosleep",), "in_a_child": ("clone",), "stopped": ("clone", "kill"),
    "own_timers": ("clock_nanosleep",), "cpu_four": ("clone",), "cpu_threads": ("clone",),
    "cpu_successors": ("clone",),
}  # fmt: skip

PROBES: tuple[Probe, ...] = (
    *(
        Probe(
            f"time.{slug(name)}", f"{what} past the deadline", TIME, f"{name}()\npassed()", "deadline", "outcome",
            "time", expect="limit wall_time", deadline=1.0, needs=_NEEDS.get(name, ()),
            unless="alone" if name == "blocked" else "",
        )
        for name, what in _LOOPS.items()
    ),
    *(
        Probe(
            f"time.{slug(name)}", f"uses more CPU time than allowed, by {what}", CPU, f"{name}()\npassed()", "cpu-time",
            "outcome", "time", expect="limit cpu_time; cpu 1.5", limits=(("cpu_time", 1.0),),
            declared=("limits.cpu_time",), deadline=12.0, needs=_NEEDS.get(name, ()),
        )
        for name, what in _CPU.items()
    ),
)  # fmt: skip
