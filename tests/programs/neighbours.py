"""Jobs of one template beside another that sleeps, all in sandboxes that were made ahead: one after the other attacks;
prints what became of each, of the sleeper as `victim`.

Arguments: directory of a changed launcher (-: ours), files of the attacks.
"""

import json
import sys
import threading
from pathlib import Path

from stocked import open_request, prepared

import casemate
from casemate.control import runs
from casemate.runtime import connection

package, attacks = sys.argv[1], [Path(name) for name in sys.argv[2:]]
if package != "-":
    connection.PACKAGE = Path(package)
SLEEP = b"import time\ntime.sleep(3)\nprint('slept well')\nraise SystemExit(0)\n"
told: dict[str, list[object]] = {}

with (
    casemate.Host(stock=casemate.Stock(size=1 + len(attacks))) as host,
    prepared(host, open_request(host, b""), 1 + len(attacks)) as ready,
):
    asleep = threading.Event()

    def run(name: str, source: bytes) -> None:
        """One job, and what became of it."""
        request = open_request(host, source)
        try:
            result = host.execute(request, runs.Cancellation(), lambda step: step == "script" and asleep.set())
            told[name] = [result.outcome.reason, result.outcome.exit_code, result.stdout.text]
            assert ready.served(result)
        except casemate.CasemateError as error:
            told[name] = [type(error).__name__, None, str(error)]

    victim = threading.Thread(target=run, args=("victim", SLEEP))
    victim.start()
    asleep.wait(60)
    for file in attacks:
        run(file.stem, file.read_bytes())
    # Else the last attack came when it had ended.
    assert told.get("victim", ["asleep"])[0] in ("asleep", "SandboxFault")
    victim.join(60)
print(json.dumps(told))
