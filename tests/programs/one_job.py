"""One honest job."""

import json

import casemate
from casemate.control.host import strongest

with casemate.Host() as host:
    result = host.run("import cadquery as cq\nresult = cq.Workplane().box(1, 1, 1)\n", strongest(host))
print(json.dumps({"ok": result.ok}))
