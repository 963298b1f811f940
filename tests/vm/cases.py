"""What is run in the virtual machine, as a table: where (whose cgroup), what, and what must come of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

PYTHON = "/srv/data/python/bin/python3"
PROJECT = "/srv/project"
UID = 1000
USER = "casemate"

_AS_USER = (
    "runuser", "-u", USER, "--", "env", f"HOME=/home/{USER}", f"XDG_RUNTIME_DIR=/run/user/{UID}",
    f"DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/{UID}/bus",
)  # fmt: skip
# A cgroup namespace with its own view of the tree, as container runtimes make it.
_CONTAINER = (
    "unshare", "--cgroup", "--mount", "sh", "-c",
    'umount -l /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup && exec "$@"', "sh",
)  # fmt: skip
_DELEGATE = ("-p", "Delegate=yes")
PLACES: Mapping[str, tuple[str, ...]] = {
    "root, delegated scope": ("systemd-run", "--quiet", "--scope", *_DELEGATE, "--"),
    "root, delegated service": (
        "systemd-run", "--quiet", "--wait", "--pipe", "--collect", "--working-directory", PROJECT, *_DELEGATE, "--",
    ),
    "root, container": ("systemd-run", "--quiet", "--scope", *_DELEGATE, "--", *_CONTAINER),
    "root, no delegation": ("systemd-run", "--quiet", "--scope", "--"),
    "user, delegated scope": (*_AS_USER, "systemd-run", "--quiet", "--user", "--scope", *_DELEGATE, "--"),
    "user, no delegation": ("systemd-run", "--quiet", "--scope", "--", *_AS_USER),
}  # fmt: skip
"""Name → how a program is started there; what systemd-run --scope starts inherits environment and directory."""


@dataclass(frozen=True)
class Done:
    """How a program ended."""

    status: int
    out: str
    err: str


@dataclass(frozen=True)
class Case:
    """`check` returns a few words about what it saw, or raises AssertionError."""

    name: str
    places: tuple[str, ...]
    argv: tuple[str, ...]
    check: Callable[[Done], str]
    timeout: float


def _casemate(*arguments: str) -> tuple[str, ...]:
    return (PYTHON, "-m", "casemate.cli", *arguments)


def _document(done: Done, status: int) -> dict[str, Any]:
    assert done.status == status, f"status {done.status}, not {status}"
    found: dict[str, Any] = json.loads(done.out)
    return found


def _offers_v2(done: Done) -> str:
    found = _document(done, 0)
    assert found["host"]["cgroup"] == "memory v2, pids v2, cpu v2", found["host"]["cgroup"]
    assert all(layer["available"] for layer in found["layers"]), found["layers"]
    assert found["strongest"] == "cad"
    return f"every layer; landlock {found['host']['landlock']}"


def _is_admitted(done: Done) -> str:
    found = _document(done, 0)
    assert found["admitted"] is True, found
    return "admitted, by a sandbox without a CAD library"


def _is_a_part(done: Done) -> str:
    found = _document(done, 0)
    layers = {layer["name"]: layer["detail"] for layer in found["enforcement"]["layers"]}
    # As casemate/profiles/cad.toml says: 2 GiB, 32 processes and two of ours, one core.
    assert layers["keeper.cgroup"] == "v2: memory 2147483648, pids 34, cpu 100000 100000", layers["keeper.cgroup"]
    assert layers["inspect.keeper.cgroup"].startswith("v2: "), layers["inspect.keeper.cgroup"]
    (part,) = found["parts"]
    # 50 wide, 40 deep, 50 high, as in tests/escape/test_first_path.py.
    assert [round(edge, 6) for edge in part["facts"]["bounding_box"]] == [-25, 0, 0, 25, 40, 50], part["facts"]
    usage = found["usage"]
    assert usage["cpu"] > 0, usage
    assert usage["memory_peak"] > 0, usage
    return f"a part; {usage['cpu']:.1f} s of CPU, {usage['memory_peak'] >> 20} MiB, by the cgroup"


def _is_refused(done: Done) -> str:
    found = _document(done, 3)
    text = json.dumps(found, ensure_ascii=False)
    for word in ("cgroup-memory", "cgroup-pids", "cgroup-cpu", "Delegate=yes", "cad-rlimit"):
        assert word in text, f"{word} is not in {text}"
    return "refused, with the remedy"


def _is_a_part_by_rlimits(done: Done) -> str:
    found = _document(done, 0)
    enforcement = found["enforcement"]
    assert enforcement["profile"] == "cad-rlimit", enforcement
    assert not any(layer["name"] == "keeper.cgroup" for layer in enforcement["layers"])
    return "a part, under cad-rlimit"


def _passed(done: Done) -> str:
    last = done.out.strip().splitlines()[-1] if done.out.strip() else ""
    assert done.status == 0, last or f"status {done.status}"
    assert " passed" in last, last
    assert "skipped" not in last, last
    return last.strip("= ")


def _all_is_held(done: Done) -> str:
    found = json.loads(done.out)
    assert "findings" in found, found
    wrong = [f"{one['id']} {one['verdict']}: {one['evidence'][-200:]}" for one in found["findings"]
             if one["verdict"] != "held"]  # fmt: skip
    assert wrong == [], wrong
    assert (done.status, found["ok"]) == (0, True), done.status
    assert found["counts"]["held"] >= 600, found["counts"]
    return f"{found['counts']['held']} of {len(found['findings'])} held in {found['seconds']:.0f} s"


HOST_WIDE = (
    *(f"kernel.{name}" for name in (
        "reboot", "clock-settime", "settimeofday", "adjtimex", "clock-adjtime", "sethostname", "setdomainname",
        "vhangup", "sync", "syncfs", "sweep",
    )),
    *(f"proc.write-{name}" for name in (
        "sys-kernel-core-pattern", "sys-kernel-modprobe", "sys-kernel-sysrq", "sys-vm-drop-caches",
        "sys-vm-overcommit-memory", "sys-kernel-panic", "sysrq-trigger",
    )),
)  # fmt: skip
"""Probes whose effect is host-wide. Three more have no twin here: the kernel has no kernel.hotplug, binfmt_misc is not
mounted, and it does not map its page of legacy calls for reading."""


def _each_twin_is_open(done: Done) -> str:
    found = json.loads(done.out)
    wrong = [f"{one['id']}: {one['verdict']}, {one['evidence'][-150:]}" for one in found["findings"]
             if (one["verdict"], one["twin"]) != ("held", "open")]  # fmt: skip
    assert wrong == [], wrong
    assert done.status == 0, done.status
    return f"{len(found['findings'])} held, and open without their guards"


def _tests(*arguments: str) -> tuple[str, ...]:
    return (PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "timeout=3600", "-x", *arguments)


_DELEGATED = ("root, delegated scope", "user, delegated scope")
_SCRIPT = "examples/motor_bracket.py"
CASES = (
    Case("doctor", (*_DELEGATED, "root, delegated service", "root, container"), _casemate("doctor", "--json"),
         _offers_v2, 120),
    Case("check", (*_DELEGATED, "root, delegated service", "root, container"),
         _casemate("check", _SCRIPT, "--profile", "cad", "--json"), _is_admitted, 300),
    Case("run cad", (*_DELEGATED, "root, delegated service", "root, container"),
         _casemate("run", _SCRIPT, "--profile", "cad", "--json"), _is_a_part, 1500),
    Case("groups", _DELEGATED, _tests("tests/launcher/test_cgroups_group.py"), _passed, 300),
    Case("limits", _DELEGATED,
         _tests("tests/escape/test_limits.py", "-k", "fork or memory_of_children or cpu_time"), _passed, 2400),
    Case("ends", _DELEGATED, _tests("tests/escape/test_first_path.py", "-k", "leaves_nothing"), _passed, 2400),
    Case("guards", _DELEGATED, _tests("tests/escape/test_guards.py", "-k", "guard_holds and ahead"), _passed, 2400),
    Case("look", _DELEGATED, _tests("tests/escape/test_stock.py", "-k", "gets_no_job"), _passed, 2400),
    Case("verify", _DELEGATED, _casemate("verify", "--profile", "python", "--json"), _all_is_held, 3600),
    Case("twins", ("root, delegated scope",),
         _casemate("verify", "--profile", "python", "--twins", "--disposable-host", "--json", "--only", *HOST_WIDE),
         _each_twin_is_open, 2400),
    Case("verify cad", _DELEGATED, _casemate("verify", "--profile", "cad", "--json"), _all_is_held, 5400),
    Case("refusal", ("root, no delegation", "user, no delegation"),
         _casemate("run", _SCRIPT, "--profile", "cad", "--json"), _is_refused, 120),
    Case("run strongest", ("root, no delegation", "user, no delegation"),
         _casemate("run", _SCRIPT, "--profile", "strongest", "--json"), _is_a_part_by_rlimits, 900),
)  # fmt: skip
