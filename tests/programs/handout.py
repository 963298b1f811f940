"""A job that waits for a file, and while it runs another of the same kind; prints what each gave.

Argument: directory of a changed launcher (-: ours).
"""

import json
import sys
import threading
from pathlib import Path

from stocked import open_request, prepared, run

import casemate
from casemate.control import runs
from casemate.runtime import connection

if sys.argv[1] != "-":
    connection.PACKAGE = Path(sys.argv[1])
SLOW = b"import time\nprint('of the first', flush=True)\ntime.sleep(1)\nraise SystemExit(0)\n"
FAST = b"print('of the second')\nraise SystemExit(0)\n"
told = {"first": "nothing", "second": "nothing"}


def first() -> None:
    """It is lost where its sandbox is given to another."""
    try:
        result = host.execute(open_request(host, SLOW), runs.Cancellation(), lambda step: step == "script" and on.set())
        told["first"] = result.stdout.text
    except casemate.SandboxFault as fault:
        told["first"] = type(fault).__name__


with casemate.Host(stock=casemate.Stock(size=1)) as host:
    on = threading.Event()
    with prepared(host, open_request(host, b""), 1):
        thread = threading.Thread(target=first)
        thread.start()
        assert on.wait(30)
        told["second"] = run(host, open_request(host, FAST)).stdout.text
    thread.join(4)
thread.join(10)
print(json.dumps(told))
