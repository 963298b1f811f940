"""A job of a launcher that was changed, with sandboxes made ahead; prints our fault, or what the job printed.

Argument: directory of the changed launcher.
"""

import json
import sys
from pathlib import Path

from stocked import open_request, run, standing

import casemate
from casemate.control import runs
from casemate.runtime import connection

connection.PACKAGE = Path(sys.argv[1])
with casemate.Host(stock=casemate.Stock(size=2)) as host:
    request = open_request(host, b"print('served')\nraise SystemExit(0)\n")
    runs.demand(request, standing(host, request))
    told = []
    for _ in range(2):
        try:
            told.append(run(host, request).stdout.text)
        except casemate.SandboxFault as fault:
            told.append(str(fault))
print(json.dumps(told))
