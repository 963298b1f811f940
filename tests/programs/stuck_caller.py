"""A caller whose main thread holds the GIL in one native call for longer than its job may live."""

import json
import threading
import time

import casemate
from casemate.control.host import strongest

with casemate.Host() as host:
    profile = strongest(host)
    host.run("x = 1", profile)
    results: list[casemate.RunResult] = []
    running = threading.Event()

    def job() -> None:
        """Two seconds of an endless loop."""
        deadline = casemate.Deadline.after(2.0)
        results.append(
            host.run(
                "while True:\n    pass\n",
                profile,
                deadline=deadline,
                progress=lambda step: step == "script" and running.set(),
            )
        )

    thread = threading.Thread(target=job)
    thread.start()
    running.wait(30)
    began = time.monotonic()
    while time.monotonic() - began < 4.5:
        # One call of the big-integer code: seconds without a single switch of threads.
        pow(3, 4_000_000) * pow(7, 4_000_000)
    stuck = time.monotonic() - began
    thread.join(30)
result = results[0]
print(
    json.dumps(
        {
            "reason": result.outcome.reason,
            "limit": result.outcome.limit,
            "wall": result.usage.wall,
            "stuck": stuck,
        }
    )
)
