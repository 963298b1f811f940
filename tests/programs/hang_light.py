"""A job of the light template that never ends, with another sandbox made ahead; prints the step and the keeper's pid.

Argument: profile.
"""

import json
import sys

from stocked import open_request, prepared

import casemate
from casemate.control import runs

with casemate.Host(stock=casemate.Stock(size=2)) as host:
    request = open_request(host, b"while True:\n    pass\n", "light", sys.argv[1])

    def tell(step: str) -> None:
        """One line for each step."""
        print(json.dumps([step, host.keeper_pid]), flush=True)

    with prepared(host, request, 2):
        host.execute(request, runs.Cancellation(), tell)
