"""A caller that has almost no descriptors left while it asks for jobs: none, one, two, and so on.

Arguments: "warm" if the keeper stood before, "cold" if it is to be started then; "guarded", or "unguarded" to take a
message that lost descriptors for one that cannot be understood. Prints what became of each job and of one when there
were enough again, how many keepers there were, and whether every guest is gone.
"""

import json
import os
import resource
import sys

from processes import guests, wait_until
from stocked import open_request, run

import casemate
from casemate.launcher import spec

MOST = 12
_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
told, keepers = [], set()


def outcome(host: casemate.Host, spare: int) -> str:
    """What becomes of a job when the process may have `spare` more descriptors than it has."""
    top = max(map(int, os.listdir("/proc/self/fd")))
    blocked = [os.dup(0)]
    while blocked[-1] < top:  # the lowest number that is free, dup(2)
        blocked.append(os.dup(0))
    limit = blocked[-1] + 1
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit + spare, hard))
    try:
        return run(host, open_request(host, b"print('served')\nraise SystemExit(0)\n")).stdout.text.strip()
    except casemate.Busy:
        return "busy"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        for fd in blocked:
            os.close(fd)


receive = spec.Channel.receive


def unguarded(channel: spec.Channel) -> object:
    """As it was before there was a CutError."""
    try:
        return receive(channel)
    except spec.CutError as error:
        raise spec.WireError("a packet was cut") from error


if sys.argv[2] == "unguarded":
    spec.Channel.receive = unguarded

with casemate.Host(stock=casemate.Stock(size=0)) as host:
    if sys.argv[1] == "warm":
        run(host, open_request(host, b"raise SystemExit(0)\n"))
        keepers.add(host.keeper_pid)
    for spare in range(MOST):
        told.append(outcome(host, spare))
        keepers.add(host.keeper_pid)
    after = outcome(host, 200)
    keepers = keepers - {None} | {host.keeper_pid}
    gone = wait_until(lambda: not guests(host.keeper_pid), 10)
print(json.dumps({"told": told, "after": after, "keepers": len(keepers), "gone": gone}))
