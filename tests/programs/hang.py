"""An honest job, then one that never ends, with others made ahead; prints each step of it with the keeper's pid."""

import json

from stocked import prepared

import casemate
from casemate.control.host import strongest

with casemate.Host() as host:
    profile = strongest(host)
    host.run("import cadquery as cq\nresult = cq.Workplane().box(1, 1, 1)\n", profile)

    def tell(step: str) -> None:
        """One line for each step."""
        print(json.dumps([step, host.keeper_pid]), flush=True)

    source = "while True:\n    pass\n"
    with prepared(host, host.request(source, profile, None, None, "local", "local"), 2):
        host.run(source, profile, progress=tell)
