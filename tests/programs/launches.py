"""Plain programs, each in a Host with a profile and a launcher of its own, one after the other; prints what each gave.

Argument: a JSON file, a list of [directory of a changed launcher (-: ours), profile, source file, 1 if the sandbox is
made ahead and waits, 0 if it is built for its job].
"""

import json
import sys
from pathlib import Path

from stocked import prepared, run

import casemate
from casemate.runtime import connection

OURS = connection.PACKAGE
SECONDS = 30.0
told = []

for package, profile, source, ahead in json.loads(Path(sys.argv[1]).read_text("utf-8")):
    connection.PACKAGE = OURS if package == "-" else Path(package)
    try:
        with casemate.Host(stock=casemate.Stock(size=ahead)) as host:
            request = host.request(Path(source).read_bytes(), profile, None, SECONDS, "local", "local")
            with prepared(host, request, ahead) as ready:
                result = run(host, request)
                told.append(
                    {
                        "ahead": ready.served(result),
                        "reason": result.outcome.reason,
                        "limit": result.outcome.limit,
                        "stdout": result.stdout.text[:8000],
                        "stderr": result.stderr.text[-2000:],
                        "refused": result.usage.refused,
                    }
                )
    except casemate.SandboxFault as fault:
        told.append({"fault": str(fault), "stdout": ""})
print(json.dumps(told))
