"""One hostile job, then an honest one; prints what became of both.

Arguments: source file, seconds (0: none), gate, how many sandboxes to make ahead (0: each is built for its job).
"""

import json
import sys
import time
from pathlib import Path

from stocked import prepared, run

import casemate
from casemate.control.host import strongest

BOX = "import cadquery as cq\nresult = cq.Workplane().box(10, 20, 30)\n"
source, seconds, gate = Path(sys.argv[1]).read_bytes(), float(sys.argv[2]), sys.argv[3] == "gate"
size = int(sys.argv[4])

with casemate.Host(stock=casemate.Stock(size=size)) as host:
    profile = strongest(host)
    host.run(BOX, profile)  # the template is warm from here on
    with prepared(host, host.request(BOX, profile, None, None, "local", "local"), size) as ready:
        deadline = casemate.Deadline.after(seconds) if seconds else None
        began = time.monotonic()
        bad = run(host, host.request(source, profile, None, deadline, "local", "local", gate=gate))
        took = time.monotonic() - began
        good = host.run(BOX, profile)

outcome = bad.outcome
print(
    json.dumps(
        {
            "ahead": [ready.served(bad), ready.served(good)],
            "reason": outcome.reason,
            "limit": outcome.limit,
            "stage": outcome.stage,
            "verdict": outcome.verdict,
            "exit_code": outcome.exit_code,
            "signal": outcome.signal,
            "error": outcome.error and outcome.error.type,
            "message": outcome.message,
            "ok": bad.ok,
            "took": took,
            "stdout": [bad.stdout.text[:2000], bad.stdout.total, bad.stdout.truncated],
            "stderr": [bad.stderr.text[:2000], bad.stderr.total, bad.stderr.truncated],
            "refused": bad.usage.refused,
            "next": good.outcome.verdict,
            "volume": good.parts[0].facts.volume if good.parts and good.parts[0].facts else None,
        }
    )
)
