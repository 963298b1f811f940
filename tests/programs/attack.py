"""One hostile source with the gate off; prints what became of it.

Arguments: source file, template, profile, seconds of deadline (0: none), directory of a changed launcher (-: ours).
"""

import dataclasses
import json
import sys
import time
from pathlib import Path

import casemate
from casemate.control import runs
from casemate.control.host import TEMPLATES, strongest
from casemate.runtime import connection

source, template, profile, seconds, package = sys.argv[1:]
if package != "-":
    connection.PACKAGE = Path(package)

with casemate.Host(stock=casemate.Stock(size=0)) as host:  # one job: nothing is made ahead of it
    name = strongest(host) if profile == "strongest" else profile
    request = host.request(Path(source).read_bytes(), name, None, None, "local", "local", gate=False)
    request = dataclasses.replace(request, template=template)
    host._rooms.standing(request.image, TEMPLATES[template])  # warm before the clock starts
    deadline = casemate.Deadline.after(float(seconds)) if float(seconds) else None
    began = time.monotonic()
    result = host.execute(dataclasses.replace(request, deadline=deadline), runs.Cancellation(), lambda _: None)
    took = time.monotonic() - began

outcome = result.outcome
print(
    json.dumps(
        {
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
