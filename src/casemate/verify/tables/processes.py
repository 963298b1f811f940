"""Fork bombs, and what tries to stay when its execution is over."""

from __future__ import annotations

from casemate.verify.model import Probe
from casemate.verify.tables.rows import PROCESSES, SURVIVAL, slug

MINIMUM = 20
_BOMBS = {
    "forks": "forks", "threads": "starts threads", "zombies": "leaves zombies", "from_threads": "forks from threads",
    "grandchildren": "forks children that fork", "deaf_children": "forks children that ignore every signal",
}  # fmt: skip
# Name → what is left, how the job must end, its seconds.
_LEFT = {
    "left_daemon": ("a daemon", "exited", 10.0),
    "left_deaf": ("a daemon that ignores every signal", "exited", 10.0),
    "left_stopped": ("a process that is stopped", "exited", 10.0),
    "left_terminal_stop": ("a process that stopped as for a terminal", "exited", 10.0),
    "left_spinning": ("a process that spins", "exited", 10.0),
    "left_forking": ("a process that forks its successor again and again", "exited", 10.0),
    "left_child": ("a child that holds its output", "exited", 10.0),
    "left_threads": ("a process with threads", "exited", 10.0),
    "left_blocked": ("a process that waits for ever", "exited", 10.0),
    "left_many": ("ten daemons", "exited", 10.0),
    "left_at_once": ("a daemon, and ends at once", "exited", 10.0),
    "left_after_signal": ("a daemon, and kills itself", "signaled 9", 10.0),
    "left_after_deadline": ("a daemon, and runs out of time", "limit wall_time", 1.5),
    "left_after_crash": ("a daemon, and crashes", "signaled 11", 10.0),
    "left_after_cancel": ("a daemon, and is cancelled", "cancelled", 10.0),
}

PROBES: tuple[Probe, ...] = (
    *(
        Probe(
            f"processes.{slug(name)}", f"{what} without end", PROCESSES, f"{name}()", "pids", "outcome", "processes",
            expect="exited; refused EAGAIN; tasks 16", limits=(("processes", 16),), needs=("clone",),
        )
        for name, what in _BOMBS.items()
    ),
    *(
        Probe(
            f"processes.{slug(name)}", f"leaves {what}", SURVIVAL, f"{name}()", "kill", "census", "processes",
            expect=how, deadline=seconds, needs=("clone",),
        )
        for name, (what, how, seconds) in _LEFT.items()
    ),
)  # fmt: skip
