"""A caller with a low limit of open files: as many jobs at once as the keeper has room for, then one more.

Argument: sandboxes to keep in stock. Prints what became of the jobs, and of the one too many.
"""

import json
import resource
import sys
import threading

from stocked import open_request, prepared, run

import casemate
from casemate.control import runs

# Of a keeper: 320 of its own, and 18 for each sandbox, which leaves room for ten. A guest wants 256 itself.
resource.setrlimit(resource.RLIMIT_NOFILE, (320 + 10 * 18, 320 + 10 * 18))
STAYS = b"import time\ntime.sleep(60)\n"
told = []

with casemate.Host(stock=casemate.Stock(size=int(sys.argv[1]))) as host:
    quick = open_request(host, b"print('served')\nraise SystemExit(0)\n")
    with prepared(host, quick, min(2, int(sys.argv[1]))):
        pass
    running = [threading.Event() for _ in range(10)]
    ends = [runs.Cancellation() for _ in range(10)]

    def stay(number: int) -> None:
        """A job that stays until it is cancelled."""
        request = open_request(host, STAYS)
        result = host.execute(request, ends[number], lambda step: step == "script" and running[number].set())
        told.append(result.outcome.reason)

    threads = [threading.Thread(target=stay, args=(number,)) for number in range(10)]
    for thread, event in zip(threads, running, strict=True):
        thread.start()
        assert event.wait(30)
    try:
        too_many = run(host, quick).stdout.text
    except casemate.Busy as busy:
        too_many = f"Busy: {busy}"
    for end in ends:
        end.request()
    for thread in threads:
        thread.join(30)
    after = run(host, quick).stdout.text
print(json.dumps({"jobs": told, "too many": too_many, "after": after}))
