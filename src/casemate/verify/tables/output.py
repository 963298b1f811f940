"""Output floods, output that is not text, and output after the end."""

from __future__ import annotations

from casemate.verify.model import Probe
from casemate.verify.tables.rows import ARTIFACTS, MEMORY, SURVIVAL

MINIMUM = 14
_BOUND = 64 << 10
_LIMITS = (("stdout_bytes", _BOUND), ("stderr_bytes", _BOUND))
_TOTAL = 8 << 20
_FLOODS = {
    "blocks": "for _ in range(128): os.write(1, bytes(65536))",
    "lines": "for _ in range(1024): os.write(1, b'\\n' * 8192)",
    "one-line": "for _ in range(128): os.write(1, b'x' * 65536)",
    "print": "for _ in range(1024): print('x' * 8192)",
    "not-text": "for _ in range(128): os.write(1, b'\\xff\\xfe\\x80' * 21846)",
    "escapes": "for _ in range(128): os.write(1, b'\\x1b]0;x\\x07\\x1b[2J' * 6000)",
    "children": "for _ in range(8): child(lambda: [os.write(1, bytes(65536)) for _ in range(16)], 0)\n"
                "for _ in range(8): os.wait()",
    "threads": "ts = [threading.Thread(target=lambda: [os.write(1, bytes(65536)) for _ in range(16)]) for _ in range(8)]\n"
               "for t in ts: t.start()\nfor t in ts: t.join()",
    "reopened": "fd = os.dup(1)\nos.close(1)\nos.dup2(fd, 1)\nfor _ in range(128): os.write(fd, bytes(65536))",
}  # fmt: skip
_SAID = "tell(NAME, refused='cut')\n"

PROBES: tuple[Probe, ...] = (
    *(
        Probe(
            f"output.{name}", f"floods its output: {name}", MEMORY, _SAID + code, "output", "outcome", "output",
            expect=f"exited; stdout {_BOUND}; counted {_TOTAL // 2}", limits=_LIMITS,
        )
        for name, code in _FLOODS.items()
    ),
    Probe(
        "output.errors", "floods its error output", MEMORY, _SAID + "for _ in range(128): os.write(2, bytes(65536))",
        "output", "outcome", "output", expect=f"exited; stderr {_BOUND}", limits=_LIMITS,
    ),
    Probe(
        "output.report", "floods the report", ARTIFACTS, _SAID + "for _ in range(64): os.write(3, bytes(65536))\npassed()",
        "output", "outcome", "output", expect="limit report_bytes", limits=(("report_bytes", 1 << 20),),
    ),
    Probe(
        "output.after-cancel", "goes on printing when it was cancelled", SURVIVAL,
        _SAID + "end = time.monotonic() + 4\nwhile time.monotonic() < end: os.write(1, bytes(4096))\npassed()",
        "kill", "census", "output", expect=f"cancelled; stdout {_BOUND}", limits=_LIMITS,
    ),
    Probe(
        "output.daemon", "leaves a daemon that prints later", SURVIVAL,
        "child(lambda: (time.sleep(1), os.write(1, b'printed-late')), 60)\n" + _SAID, "kill", "census", "output",
        expect="exited; never printed-late", limits=_LIMITS,
    ),
    Probe(
        "output.closed", "closes its output and goes on", SURVIVAL, _SAID + "os.closerange(0, 256)\ntime.sleep(4)", "deadline",
        "outcome", "output", expect="limit wall_time", deadline=1.0,
    ),
)  # fmt: skip
