"""Other sandboxes, of the same tenant and of another one."""

from __future__ import annotations

from casemate.verify.model import Probe
from casemate.verify.tables.rows import IDENTITY, MEMORY, PROCESSES, TENANTS

MINIMUM = 28
TENANTS_MINIMUM = 30
_REACHES = {
    "files": ("reads files that the other wrote", TENANTS, "secret_files()", "canary"),
    "path": ("opens the other's file by its path", TENANTS, "read('/tmp/victim')", "canary"),
    "change": ("changes the other's file", TENANTS, "spoilt()", "victim"),
    "directories": ("lists the other's job directory", TENANTS, "directories()", "canary"),
    "shared-directory": ("reads the other's file in /dev/shm", TENANTS, "read('/dev/shm/victim')", "canary"),
    "list-processes": ("lists the other's processes", PROCESSES, "listed()", "look"),
    "signal-0": ("asks whether a process is there", PROCESSES, "first(lambda p: signalled(p, 0))", "victim"),
    "signal-term": ("sends SIGTERM", PROCESSES, "first(lambda p: signalled(p, 15))", "victim"),
    "signal-cont": ("sends SIGCONT", PROCESSES, "first(lambda p: signalled(p, 18))", "victim"),
    "signal-group": ("sends a signal to other groups", PROCESSES, "first(lambda p: os.killpg(p, 28) or 'sent')",
    "victim"),
    "command-line": ("reads another's command line", PROCESSES, "first(lambda p: read(f'/proc/{p}/status'))", "look"),
    "memory": ("opens another's memory", TENANTS, "first(memory_of)", "look"),
    "descriptors": ("lists another's descriptors", TENANTS, "first(lambda p: os.listdir(f'/proc/{p}/fd'))", "look"),
    "root": ("looks into another's root", TENANTS, "first(lambda p: os.listdir(f'/proc/{p}/root/tmp'))", "look"),
    "session": ("asks for another's session", PROCESSES, "first(lambda p: os.getsid(p))", "look"),
    "abstract": ("connects to the other's abstract socket", TENANTS, "connected()", "victim"),
    "shared-memory": ("reads the other's System V memory", TENANTS, "shared_secret()", "canary"),
    "semaphores": ("finds the other's semaphores", TENANTS, "ipc('semget', 0, 0)", "look"),
    "messages": ("finds the other's message queue", TENANTS, "ipc('msgget', 0)", "look"),
}  # fmt: skip
_LOOKS = {
    "namespace-pid": ("ns pid", PROCESSES), "namespace-net": ("ns net", TENANTS), "namespace-ipc": ("ns ipc", TENANTS),
    "uid": ("uid", IDENTITY), "namespace-uts": ("ns uts", IDENTITY),
}  # fmt: skip
_GREEDY = {
    "processes": ("takes all the processes it can", PROCESSES, "greedy(lambda n: sleeper())"),
    "pipes": ("fills all the pipes it can", MEMORY, "greedy(lambda n: full_pipe(), 90)"),
    "files": ("fills all the disk it can", TENANTS, "greedy(lambda n: open(f'/tmp/g{n}', 'wb').write(bytes(1 << 20)))"),
    "inodes": ("makes all the files it can", TENANTS, "greedy(lambda n: open(f'/tmp/i{n}', 'w').close(), 100000)"),
}  # fmt: skip
_OTHER = ("files", "path", "abstract", "shared-memory", "semaphores", "messages", "shared-directory")
_TRACES = {
    "list-processes": "ns pid", "command-line": "ns pid", "memory": "ns pid", "descriptors": "ns pid", "root": "ns pid",
    "session": "ns pid", "semaphores": "ns ipc", "messages": "ns ipc",
}  # fmt: skip

_APART = ("namespace-net", "namespace-ipc", "namespace-uts")


def _reach(name: str, batch: str, prefix: str, whose: str = "") -> Probe:
    what, row, code, witness = _REACHES[name]
    return Probe(f"{prefix}{name}", what + whose, row, code, "neighbours", witness, batch, _TRACES.get(name, ""))


def _look(name: str, batch: str, prefix: str, whom: str) -> Probe:
    trace, row = _LOOKS[name]
    what = f"shares its {trace.split()[-1]} with {whom}"
    return Probe(f"{prefix}{name}", what, row, "seen_from_both()", "neighbours", "look", batch, trace)


PROBES: tuple[Probe, ...] = (
    *(_reach(name, "neighbours", "neighbours.") for name in _REACHES),
    *(_look(name, "neighbours", "neighbours.", "the other") for name in _LOOKS),
    *(
        Probe(f"neighbours.greedy-{name}", what, row, code, "neighbours", "victim", f"greedy-{name}", isolated=False)
        for name, (what, row, code) in _GREEDY.items()
    ),
    *(_reach(name, "tenants", "tenants.", ", of another tenant") for name in _OTHER),
    *(_look(name, "tenants", "tenants.", "another tenant's") for name in _APART),
    *(_reach(name, "tenants-here", "tenants.here-", ", of another tenant in the same room") for name in _REACHES),
    *(_look(name, "tenants-here", "tenants.here-", "another tenant's in the same room") for name in _LOOKS),
)
AS_ROOT = frozenset({"neighbours.uid", "tenants.here-uid"})
