"""Jobs one after the other, each in a sandbox that was made before the first of them began; prints what each gave.

Arguments: directory of a changed launcher (-: ours), template, profile, sandboxes to make ahead, then a file for each
job; one whose name begins with `open` runs with the gate off.
"""

import dataclasses
import json
import sys
from pathlib import Path

from stocked import open_request, prepared, run

import casemate
from casemate.runtime import connection

package, template, profile, size = sys.argv[1:5]
if package != "-":
    connection.PACKAGE = Path(package)
told = []

with casemate.Host(stock=casemate.Stock(size=int(size))) as host:
    plain = open_request(host, b"", template, profile)
    with prepared(host, plain, int(size)) as ready:
        for file in map(Path, sys.argv[5:]):
            request = dataclasses.replace(plain, source=file.read_bytes(), gate=not file.name.startswith("open"))
            result = run(host, request)
            told.append(
                {
                    "ahead": ready.served(result),
                    "reason": result.outcome.reason,
                    "verdict": result.outcome.verdict,
                    "stdout": result.stdout.text,
                    "stderr": result.stderr.text,
                    "steps": {name: artifact.sha256 for name, artifact in result.artifacts.items()},
                    "volumes": [part.facts.volume for part in result.parts if part.facts],
                }
            )
print(json.dumps(told))
