"""Many hostile programs one after the other, and an honest one at the end; one line of JSON.

Arguments: profile, seconds of wall clock for each, a line to put before each source, then files. Each is given to a
sandbox that was made ahead and waited.
"""

import json
import os
import sys
import time
from pathlib import Path

from stocked import prepared, run

import casemate

TOKEN = "token-9f3c1d"
os.environ["CASEMATE_CANARY"] = TOKEN
profile, seconds, first = sys.argv[1], float(sys.argv[2]), sys.argv[3]
seen = {}

with casemate.Host(stock=casemate.Stock(size=1)) as host:
    for file in map(Path, sys.argv[4:]):
        source = f"{first}\n".encode() + file.read_bytes()
        request = host.request(source, profile, None, None, "local", "local", limits={"wall_time": seconds})
        with prepared(host, request, 1) as ready:
            began = time.monotonic()
            result = run(host, request)
            took = time.monotonic() - began
            ahead = ready.served(result)
        outcome = result.outcome
        seen[f"{file.parent.name}/{file.stem}"] = {
            "ahead": ahead,
            "reason": outcome.reason,
            "limit": outcome.limit,
            "signal": outcome.signal,
            "exit_code": outcome.exit_code,
            "error": outcome.error and [outcome.error.type, outcome.error.message[:200]],
            "stdout": [result.stdout.text[:4000], result.stdout.total, result.stdout.truncated],
            "stderr": result.stderr.text[:2000],
            "files": {name: artifact.size for name, artifact in result.artifacts.items()},
            "left": [notice.message for notice in result.warnings],
            "refused": result.usage.refused,
            "took": took,
        }
    last = host.run("print(6 * 7)", profile)
print(json.dumps({"seen": seen, "token": TOKEN, "last": last.stdout.text}))
