"""Many hostile sources one after the other with the gate off, and an honest job at the end; one line of JSON.

Arguments: seconds for each, how many sandboxes to make ahead of each (0: it is built for its job), then files or
directories of Python files.
"""

import json
import os
import sys
from pathlib import Path

from stocked import prepared, run

import casemate
from casemate.control.host import strongest

BOX = "import cadquery as cq\nresult = cq.Workplane().box(10, 20, 30)\n"
TOKEN = "token-9f3c1d"
os.environ["CASEMATE_CANARY"] = TOKEN
files = sorted(
    file for name in sys.argv[3:] for file in ([Path(name)] if name.endswith(".py") else Path(name).glob("*.py"))
)
size = int(sys.argv[2])
seen = {}

with casemate.Host(stock=casemate.Stock(size=size)) as host:
    profile = strongest(host)
    host.run(BOX, profile)
    for file in files:
        with prepared(host, host.request(BOX, profile, None, None, "local", "local"), size) as ready:
            deadline = casemate.Deadline.after(float(sys.argv[1]))
            result = run(host, host.request(file.read_bytes(), profile, None, deadline, "local", "local", gate=False))
            ahead = ready.served(result)
        outcome = result.outcome
        seen[f"{file.parent.name}/{file.name}"] = {
            "ahead": ahead,
            "reason": outcome.reason,
            "limit": outcome.limit,
            "signal": outcome.signal,
            "verdict": outcome.verdict,
            "error": outcome.error and [outcome.error.type, outcome.error.message[:200]],
            "output": (result.stdout.text + result.stderr.text)[:5000],
            "steps": {name: artifact.sha256 for name, artifact in result.artifacts.items()},
            "volumes": [part.facts.volume for part in result.parts if part.facts],
        }
    last = host.run(BOX, profile)
print(json.dumps({"seen": seen, "token": TOKEN, "last": [p.facts.volume for p in last.parts if p.facts]}))
