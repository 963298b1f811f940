"""Who a guest is: ids, capabilities, namespaces, limits, as the host's /proc shows them."""

from __future__ import annotations

from casemate.verify.model import Probe
from casemate.verify.tables.rows import CONTROL, CPU, IDENTITY, KERNEL, PROCESSES, TENANTS

MINIMUM = 30
_B = "identity"
_NONE = "0000000000000000"


def _seen(name: str, what: str, row: str, code: str, twin: str, trace: str) -> Probe:
    return Probe(f"identity.{name}", what, row, code, twin, "look", _B, trace, isolated=False)


_SETS = {"CapPrm": "powers", "CapEff": "powers", "CapBnd": "powers", "CapInh": "ambient", "CapAmb": "ambient"}
_LIMITS = {
    "core": "Max core file size", "locked": "Max locked memory", "queues": "Max msgqueue size",
    "open": "Max open files", "processes": "Max processes", "file-size": "Max file size", "cpu": "Max cpu time",
    "address-space": "Max address space", "data": "Max data size", "signals": "Max pending signals",
}  # fmt: skip

PROBES: tuple[Probe, ...] = (
    _seen("uid", "has a uid of its own", IDENTITY, "wrong_ids()", "guest-uid", "guest uid"),
    _seen("gid", "has a gid of its own", IDENTITY, "wrong_ids()", "guest-uid", "guest gid"),
    _seen("groups", "has supplementary groups", IDENTITY, "[g for g in os.getgroups() if g not in (1000, 65534)]",
          "groups", "guest groups"),
    _seen("not-init", "has init's uid", IDENTITY, "wrong_ids()", "guest-uid", "guest init"),
    _seen("become-root", "becomes root of its namespace", IDENTITY, "become(0)", "powers", "guest uid"),
    _seen("root-map", "has the host's root in the map of its namespace", IDENTITY, "[]", "root-map", "guest map"),
    *(
        _seen(name.lower(), f"has a capability in {name}", KERNEL, f"capability('{name}')", twin,
              f"status {name} {_NONE}")
        for name, twin in _SETS.items()
    ),
    _seen("no-new-privs", "may gain privileges by execve", KERNEL, "status_of('NoNewPrivs') != '1'", "privileges",
          "status NoNewPrivs 1"),
    _seen("filter-on", "runs without a filter", KERNEL, "status_of('Seccomp') != '2'", "seccomp", "status Seccomp 2"),
    _seen("one-filter", "has other filters than one", KERNEL, "status_of('Seccomp_filters') == '0'", "seccomp",
          "filters 1"),
    _seen("no-locked-memory", "locks memory", KERNEL, "lock_memory()", "memlock", "status VmLck 0 kB"),
    _seen("nice", "raises or lowers its priority", CPU, "reprioritised()", "seccomp", "file nice 0"),
    _seen("policy", "becomes a batch process", CPU, "scheduled()", "seccomp", "file policy 0"),
    _seen("affinity", "chooses its cores", CPU, "pinned()", "seccomp", "cores all"),
    _seen("oom-score", "lowers its own oom score", CONTROL, "set_oom()", "proc-writable", "file oom_score_adj 0"),
    _seen("session", "is in a session of its own", PROCESSES, "os.getsid(0) != os.getpid()", "session",
    "guest session"),
    _seen("signals", "has signals blocked or ignored by others", CONTROL, "odd_signals()", "signals", "guest signals"),
    *(
        _seen(f"limit-{name}", f"has no bound on {text[4:]}", KERNEL, f"limitless('{text}')", "rlimits",
        f"limit {text}")
        for name, text in _LIMITS.items()
    ),
    *(
        _seen(f"namespace-{kind}", f"shares the {kind} namespace with what is outside", row, f"in_namespace('{kind}')",
              twin, f"ns {kind}")
        for kind, row, twin in (
            ("net", TENANTS, "network"), ("ipc", TENANTS, "ipc"), ("uts", IDENTITY, "names"),
            ("cgroup", CONTROL, "cgroup-namespace"), ("pid", PROCESSES, "pids-shared"),
        )
    ),
)  # fmt: skip
AS_ROOT = frozenset(
    {
        "identity.uid",
        "identity.gid",
        "identity.groups",
        "identity.not-init",
        "identity.become-root",
        "identity.root-map",
    }
)
"""A user has one uid on the host, which is the guest's too; the documents say so."""
