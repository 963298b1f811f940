"""Many hostile sources one after the other with the gate off, and an honest job at the end; one line of JSON.

Arguments: seconds for each, then files or directories of Python files.
"""

import json
import os
import sys
from pathlib import Path

import casemate
from casemate.control import runs
from casemate.control.host import strongest

BOX = "import cadquery as cq\nresult = cq.Workplane().box(10, 20, 30)\n"
TOKEN = "token-9f3c1d"
os.environ["CASEMATE_CANARY"] = TOKEN
files = sorted(
    file for name in sys.argv[2:] for file in ([Path(name)] if name.endswith(".py") else Path(name).glob("*.py"))
)
seen = {}

with casemate.Host() as host:
    profile = strongest(host)
    host.run(BOX, profile)
    for file in files:
        deadline = casemate.Deadline.after(float(sys.argv[1]))
        request = host.request(file.read_bytes(), profile, None, deadline, "local", "local", gate=False)
        result = host.execute(request, runs.Cancellation(), lambda _: None)
        outcome = result.outcome
        seen[f"{file.parent.name}/{file.name}"] = {
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
