"""Output floods, output that is not text, and output after the end."""

from __future__ import annotations

from casemate.verify.model import Probe
from casemate.verify.tables.rows import ARTIFACTS, MEMORY, SURVIVAL, slug

MINIMUM = 14
_BOUND = 64 << 10
_LIMITS = (("stdout_bytes", _BOUND), ("stderr_bytes", _BOUND))
_COUNTED = 4 << 20
_FLOODS = {
    "blocks": "large blocks", "lines": "empty lines", "one_line": "one line without an end", "prints": "print()",
    "not_text": "what is not UTF-8", "escapes": "terminal sequences", "from_children": "children",
    "from_threads": "threads", "reopened": "a copy of its descriptor",
}  # fmt: skip
# Name → what, the row, the twin, the witness, what must have been seen, seconds.
_OTHERS = {
    "errors": ("floods its error output", MEMORY, "output", "outcome", f"exited; stderr {_BOUND}", 10.0),
    "report": ("floods the report", ARTIFACTS, "output", "outcome", "limit report_bytes", 10.0),
    "after_cancel": ("goes on printing when it was cancelled", SURVIVAL, "kill", "census",
                     f"cancelled; stdout {_BOUND}", 10.0),
    "daemon": ("leaves a child that prints later", SURVIVAL, "kill", "census", "exited; never printed-late", 10.0),
    "closed": ("closes its output and goes on", SURVIVAL, "deadline", "outcome", "limit wall_time", 1.0),
}  # fmt: skip
_NEEDS = {
    "from_children": ("clone",), "from_threads": ("clone",), "reopened": ("dup2", "fcntl"), "daemon": ("clone",),
    "closed": ("clock_nanosleep",),
}  # fmt: skip
_KILLED = {
    "errors": f"limit stderr_bytes; stderr {_BOUND}", "after_cancel": f"limit stdout_bytes; stdout {_BOUND}",
}  # fmt: skip
_SAID = "says('cut')\n"

PROBES: tuple[Probe, ...] = (
    *(
        Probe(
            f"output.{slug(name)}", f"floods its output by {what}", MEMORY, f"{_SAID}{name}()", "output", "outcome",
            "output", expect=f"exited; stdout {_BOUND}; counted {_COUNTED}", limits=_LIMITS,
            needs=_NEEDS.get(name, ()), killed=f"limit stdout_bytes; stdout {_BOUND}",
        )
        for name, what in _FLOODS.items()
    ),
    *(
        Probe(
            f"output.{slug(name)}", what, row, f"{_SAID}{name}()", twin, witness, "output", expect=expect,
            limits=(("report_bytes", 1 << 20),) if name == "report" else _LIMITS, deadline=seconds,
            needs=_NEEDS.get(name, ()), killed=_KILLED.get(name, ""),
        )
        for name, (what, row, twin, witness, expect, seconds) in _OTHERS.items()
    ),
)  # fmt: skip
