"""A sandbox that waits for a job of one profile, and a job of another; prints what that job gave.

Arguments: directory of a changed launcher, the other profile, file of the job.
"""

import json
import sys
from pathlib import Path

from stocked import open_request, prepared, run

import casemate
from casemate.runtime import connection

connection.PACKAGE = Path(sys.argv[1])
with casemate.Host(stock=casemate.Stock(size=1)) as host:
    other = open_request(host, Path(sys.argv[3]).read_bytes(), profile=sys.argv[2])
    with prepared(host, open_request(host, b""), 1) as ready:
        result = run(host, other)
        print(json.dumps({"ahead": ready.served(result), "stdout": result.stdout.text}))
