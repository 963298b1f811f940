"""Hostile jobs, and an honest one after each; prints what became of them.

Arguments: how many sandboxes to make ahead of each pair (0: each is built for its job), then for each hostile job its
source file and its seconds (0: none).
"""

import json
import sys
import time
from pathlib import Path

from stocked import prepared, run

import casemate
from casemate.control.host import strongest

BOX = "import cadquery as cq\nresult = cq.Workplane().box(10, 20, 30)\n"
size, told = int(sys.argv[1]), []

with casemate.Host(stock=casemate.Stock(size=size)) as host:
    profile = strongest(host)
    host.run(BOX, profile)  # the template is warm from here on
    for file, seconds in zip(sys.argv[2::2], map(float, sys.argv[3::2]), strict=True):
        with prepared(host, host.request(BOX, profile, None, None, "local", "local"), size) as ready:
            deadline = casemate.Deadline.after(seconds) if seconds else None
            began = time.monotonic()
            bad = run(host, host.request(Path(file).read_bytes(), profile, None, deadline, "local", "local"))
            took = time.monotonic() - began
            good = host.run(BOX, profile)
            ahead = [ready.served(bad), ready.served(good)]
        outcome = bad.outcome
        told.append(
            {
                "ahead": ahead,
                "reason": outcome.reason,
                "limit": outcome.limit,
                "stage": outcome.stage,
                "error": outcome.error and outcome.error.type,
                "ok": bad.ok,
                "took": took,
                "next": good.outcome.verdict,
                "volume": good.parts[0].facts.volume if good.parts and good.parts[0].facts else None,
            }
        )
print(json.dumps(told))
