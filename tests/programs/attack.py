"""Hostile sources with the gate off, one after the other; prints what became of each.

Arguments: template, profile, seconds of deadline for each (0: none), directory of a changed launcher (-: ours), how
many sandboxes to make ahead of each (0: the job's is built for it), then the source files.
"""

import dataclasses
import json
import sys
import time
from pathlib import Path

from stocked import open_request, prepared, run, standing

import casemate
from casemate.runtime import connection

template, profile, seconds, package, size, *sources = sys.argv[1:]
told = []
if package != "-":
    connection.PACKAGE = Path(package)

with casemate.Host(stock=casemate.Stock(size=int(size))) as host:
    for source in sources:
        request = open_request(host, Path(source).read_bytes(), template, profile)
        standing(host, request)  # warm before the clock starts
        with prepared(host, request, int(size)) as ready:
            deadline = casemate.Deadline.after(float(seconds)) if float(seconds) else None
            began = time.monotonic()
            result = run(host, dataclasses.replace(request, deadline=deadline))
            took = time.monotonic() - began
            ahead = ready.served(result)
        outcome = result.outcome
        told.append(
            {
                "ahead": ahead,
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
print(json.dumps(told))
