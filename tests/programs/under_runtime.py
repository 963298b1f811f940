"""One job of each reason, and an attack, under one profile; prints what became of them, one line of JSON.

Argument: profile. The attack has the gate off and prints what it reached.
"""

import json
import os
import sys
import threading

from stocked import open_request, run

import casemate
from casemate.control import runs

BOX = "import cadquery as cq\nresult = cq.Workplane().box(10, 20, 30)\n"
KILLED = b"import os\nos.kill(os.getpid(), 9)\n"
ATTACK = b"""
import ctypes, os, socket
libc = ctypes.CDLL(None, use_errno=True)
reached = []
def attempt(name, call):
    try:
        call()
    except (OSError, ValueError):
        return
    reached.append(name)
def native(number, *arguments):
    if libc.syscall(number, *arguments) < 0:
        raise OSError(ctypes.get_errno(), "")
attempt("netlink", lambda: socket.socket(16, 3))
attempt("inet", lambda: socket.socket(2, 1))
attempt("unshare", lambda: native(272, 0x10000000))
attempt("setns", lambda: native(308, os.open("/proc/self/ns/user", os.O_RDONLY), 0))
attempt("mount", lambda: native(165, b"none", b"/tmp", b"tmpfs", 0, 0))
attempt("ptrace", lambda: native(101, 0, 0, 0, 0))
attempt("keyctl", lambda: native(250, 0, -3, 0))
attempt("bpf", lambda: native(321, 0, 0, 0))
attempt("signal init", lambda: os.kill(1, 9))
attempt("host's root", lambda: os.stat("/proc/1/root/etc/shadow"))
attempt("bundle", lambda: os.listdir("/run/bundle"))
attempt("image", lambda: open("/usr/planted", "w"))
attempt("code", lambda: open("/opt/casemate/planted", "w"))
attempt("devices", lambda: open("/dev/planted", "w"))
attempt("execute", lambda: os.execv("/usr/bin/python3", ["python3", "-c", ""]))
with open("/proc/self/status") as file:
    held = [line for line in file if line.startswith("Cap") and int(line.split()[1], 16)]
print([reached, held, os.getuid(), sorted(os.environ)])
raise SystemExit(0)
"""
seen = {}


def told(name: str, result: casemate.RunResult) -> None:
    """What became of one job."""
    outcome = result.outcome
    seen[name] = [outcome.reason, outcome.limit, outcome.signal, outcome.verdict, outcome.error and outcome.error.type]


with casemate.Host() as host:
    profile = sys.argv[1]
    first = host.run(BOX, profile)
    told("part", first)
    told("denied", host.run("import os\n", profile))
    told("wrong", host.run("x = 1 / 0\n", profile))
    told("killed", run(host, open_request(host, KILLED, "cad", profile)))
    told("clock", host.run("while True:\n    pass\n", profile, limits={"wall_time": 1.0}))
    pieces = "kept = []\nwhile True:\n    kept.append('x' * 60000 + str(len(kept)))\n"
    told("memory", host.run(pieces, profile, limits={"memory": 300 << 20}))
    cancellation = runs.Cancellation()
    request = host.request("while True:\n    pass\n", profile, None, None, "local", "local")

    def cancel(stage: str) -> None:
        """As a caller that has changed its mind when the script runs."""
        if stage == "script":
            threading.Thread(target=cancellation.request).start()

    told("cancelled", host.execute(request, cancellation, cancel))
    attacked = run(host, open_request(host, ATTACK, "cad", profile))
    told("attack", attacked)
    seen["volume"] = first.parts[0].facts and first.parts[0].facts.volume
layers = {layer.name: [layer.on, layer.detail] for layer in first.enforcement.layers}
print(
    json.dumps(
        {
            "seen": seen,
            "reached": attacked.stdout.text,
            "layers": layers,
            "degraded": first.enforcement.degraded,
            "uid": os.geteuid(),
        }
    )
)
