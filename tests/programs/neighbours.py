"""Two jobs of one template at once: one sleeps, the other attacks; prints what became of each.

Arguments: file of the attack, directory of a changed launcher (-: ours).
"""

import dataclasses
import json
import sys
import threading
from pathlib import Path

import casemate
from casemate.control import runs
from casemate.control.host import TEMPLATES, strongest
from casemate.runtime import connection

attack, package = Path(sys.argv[1]).read_bytes(), sys.argv[2]
if package != "-":
    connection.PACKAGE = Path(package)
SLEEP = b"import time\ntime.sleep(3)\nprint('slept well')\nraise SystemExit(0)\n"
told: dict[str, list[object]] = {}

with casemate.Host(stock=casemate.Stock(size=0)) as host:
    asleep = threading.Event()

    def run(name: str, source: bytes) -> None:
        """One job, and what became of it."""
        request = host.request(source, strongest(host), None, None, "local", name, gate=False)
        request = dataclasses.replace(request, template="light")
        host._rooms.standing(request.image, TEMPLATES["light"])
        try:
            result = host.execute(request, runs.Cancellation(), lambda step: step == "script" and asleep.set())
            told[name] = [result.outcome.reason, result.outcome.exit_code, result.stdout.text]
        except casemate.CasemateError as error:
            told[name] = [type(error).__name__, None, str(error)]

    victim = threading.Thread(target=run, args=("victim", SLEEP))
    victim.start()
    asleep.wait(60)
    run("attacker", attack)
    victim.join(60)
print(json.dumps(told))
