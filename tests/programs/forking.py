"""A caller that forks: before and after, parent and child each run a job on the Host that their process shares."""

import json
import os
import sys

import casemate
from casemate.control import shared
from casemate.control.host import strongest


def volume(width: int) -> float:
    """Run a job and give what it measured."""
    source = f"import cadquery as cq\nresult = cq.Workplane().box({width}, 1, 1)\n"
    return casemate.run(source, profile).parts[0].facts.volume


profile = strongest(shared.host())
seen = {"before": volume(1), "keeper": shared.host().keeper_pid}
host = shared.host()
out, into = os.pipe()
pid = os.fork()
if pid == 0:
    child = {"volume": volume(2), "keeper": shared.host().keeper_pid}
    try:
        host.run("x = 1\n", profile)
    except casemate.SandboxFault as fault:
        child["inherited"] = str(fault)
    os.write(into, json.dumps(child).encode())
    shared.host().close()
    os._exit(0)
os.close(into)
# Both at the same time.
seen["parent"] = volume(3)
with os.fdopen(out) as pipe:
    seen["child"] = json.loads(pipe.read())
os.waitpid(pid, 0)
seen["after"] = volume(4)
seen["same"] = shared.host().keeper_pid == seen["keeper"]
print(json.dumps(seen))
sys.exit(0)
