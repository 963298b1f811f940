"""One hostile source with the gate off; prints what became of it.

Arguments: source file, template, profile, seconds of deadline (0: none), directory of a changed launcher (-: ours),
how many sandboxes to make ahead (0: the job's is built for it).
"""

import dataclasses
import json
import sys
import time
from pathlib import Path

from stocked import open_request, prepared, run, standing

import casemate
from casemate.runtime import connection

source, template, profile, seconds, package, size = sys.argv[1:]
if package != "-":
    connection.PACKAGE = Path(package)

with casemate.Host(stock=casemate.Stock(size=int(size))) as host:
    request = open_request(host, Path(source).read_bytes(), template, profile)
    standing(host, request)  # warm before the clock starts
    with prepared(host, request, int(size)) as ready:
        deadline = casemate.Deadline.after(float(seconds)) if float(seconds) else None
        began = time.monotonic()
        result = run(host, dataclasses.replace(request, deadline=deadline))
        took = time.monotonic() - began

outcome = result.outcome
print(
    json.dumps(
        {
            "ahead": ready.served(result),
            "reason": outcome.reason,
            "limit": outcome.limit,
            "stage": outcome.stage,
            "exit_code": outcome.exit_code,
            "signal": outcome.signal,
            "error": outcome.error and outcome.error.type,
            "message": outcome.message,
            "stdout": [result.stdout.text[:4000], result.stdout.total, result.stdout.truncated],
            "stderr": [result.stderr.text[-2000:], result.stderr.total, result.stderr.truncated],
            "refused": result.usage.refused,
            "cpu": result.usage.cpu,
            "processes": result.usage.processes_peak,
            "memory": result.usage.memory_peak,
            "took": took,
        }
    )
)
