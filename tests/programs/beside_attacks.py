"""A victim's short jobs, alone and beside another tenant's attacks by turns; one line of JSON.

Arguments: profile, seconds of the whole, seconds of a turn, then files of the attacks, which follow one another without
a pause. Prints what each victim's job said that was not right, the seconds of each, and how many attacks there were.
"""

import json
import sys
import threading
import time
from pathlib import Path

import casemate

VICTIM = "print(6 * 7)"
BOUNDS = {"wall_time": 2.0, "memory": 268_435_456, "cpus": 0.5}

profile, whole, turn = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
sources = [Path(name).read_bytes() for name in sys.argv[4:]]
took: dict[str, list[float]] = {"alone": [], "beside": []}
wrong: list[str] = []
attacks: list[str] = []


def attack(host: casemate.Host, over: threading.Event) -> None:
    """One after the other until it is over; the list goes on where the last turn left it."""
    while not over.is_set():
        source = sources[len(attacks) % len(sources)]
        try:
            attacks.append(host.run(source, profile, limits=BOUNDS, tenant="attacker").outcome.reason)
        except casemate.Busy:
            attacks.append("busy")


def victims(host: casemate.Host, until: float) -> list[float]:
    """Seconds of each job until then, five a second at most."""
    found = []
    while time.monotonic() < until:
        began = time.monotonic()
        try:
            result = host.run(VICTIM, profile, tenant="victim")
            told = (result.ok, result.stdout.text)
        except casemate.CasemateError as error:
            told = (False, repr(error))
        found.append(time.monotonic() - began)
        if told != (True, "42\n"):
            wrong.append(repr(told))
        time.sleep(max(0.0, 0.2 - found[-1]))
    return found


with casemate.Host() as host:
    host.run(VICTIM, profile)
    end = time.monotonic() + whole
    while time.monotonic() < end:
        took["alone"] += victims(host, time.monotonic() + turn)
        over = threading.Event()
        attacker = threading.Thread(target=attack, args=(host, over))
        attacker.start()
        took["beside"] += victims(host, time.monotonic() + turn)
        over.set()
        attacker.join()
print(json.dumps({"wrong": wrong, "took": took, "attacks": attacks}))
