"""An honest job, then one that never ends; prints each step of it with the keeper's pid."""

import json

import casemate
from casemate.control.host import strongest

with casemate.Host() as host:
    profile = strongest(host)
    host.run("import cadquery as cq\nresult = cq.Workplane().box(1, 1, 1)\n", profile)

    def tell(step: str) -> None:
        """One line for each step."""
        print(json.dumps([step, host.keeper_pid]), flush=True)

    host.run("while True:\n    pass\n", profile, progress=tell)
