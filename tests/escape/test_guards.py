"""Each guard of the inner wall: an attack that must not work, and the same attack with the guard taken out.

The attacks run as plain Python with the gate off, in the light template, in sandboxes that were made ahead and waited
for them, and in others that were built for them, and print OPEN or HELD. The twins run a copy of the launcher in which
one step is missing, so that an attack which fails for another reason is not taken for a guard."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest
from harness import attack, successive

END = "\nraise SystemExit(0)\n"
TRY = """
import os
def attempt(what):
    try:
        found = what()
    except BaseException as error:
        print("HELD", type(error).__name__, error)
    else:
        print("OPEN" if found else "HELD", found)
"""


def without(*steps: str) -> tuple[str, str, str]:
    """An edit that takes steps out of the table."""
    kept = f"STEPS = tuple(s for s in STEPS if s.name not in {steps!r})"
    return ("launcher/steps.py", "def take(", f"{kept}\n\n\ndef take(")


@dataclass(frozen=True)
class Guard:
    """An attack, and the edits after which it works."""

    name: str
    source: str
    edits: tuple[tuple[str, str, str], ...]


CALL = "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\ncall = libc.syscall\n"
# Read-backs that would stop a weakened launcher before the attack is tried.
NO_TREE_CHECK = (
    "launcher/mount_table.py",
    "    found = _mounted()\n",
    "    return 'not looked at'\n    found = _mounted()\n",
)

GUARDS = (
    Guard(
        "environment",
        "attempt(lambda: dict(os.environ))",
        (without("environment"),),
    ),
    Guard(
        "descriptors",
        "attempt(lambda: [n for n in range(4, 256) if os.path.lexists(f'/proc/self/fd/{n}') and os.stat(n)])",
        (
            ("launcher/lockdown.py", "    syscalls.close_range(len(site.keep))\n", ""),
            ("launcher/lockdown.py", "    require(found == set(range(len(site.keep)))", "    require(True"),
        ),
    ),
    Guard(
        "seccomp",
        "import socket\nattempt(lambda: socket.socket(socket.AF_UNIX))",
        (without("seccomp"),),
    ),
    Guard(
        "seccomp closes ptrace",
        CALL + "attempt(lambda: call(101, 0, 0, 0, 0) == 0)",  # PTRACE_TRACEME
        (without("seccomp"),),
    ),
    Guard(
        "seccomp closes user namespaces",
        CALL + "attempt(lambda: libc.unshare(0x10000000) == 0)",
        (without("seccomp"),),
    ),
    Guard(
        "landlock",
        "attempt(lambda: os.listdir('/'))",
        (without("landlock"),),
    ),
    Guard(
        "landlock forbids execve",
        "import subprocess\nattempt(lambda: subprocess.run(['/usr/bin/python3', '-c', ''], check=True))",
        (without("landlock", "seccomp"),),
    ),
    Guard(
        "capabilities",
        "attempt(lambda: int([l for l in open('/proc/self/status') if l.startswith('CapEff')][0].split()[1], 16))",
        (without("capabilities", "uid"),),
    ),
    Guard(
        "no_new_privs",
        "attempt(lambda: 'NoNewPrivs:\\t0' in open('/proc/self/status').read())",
        # The filter needs it, or CAP_SYS_ADMIN.
        (without("no_new_privs", "seccomp", "landlock"),),
    ),
    Guard(
        "pid namespace",
        "attempt(lambda: [n for n in os.listdir('/proc') if n.isdigit() and int(n) != os.getpid()])",
        (("launcher/mounts.py", 'PROC = ("hidepid=invisible", "subset=pid")', 'PROC = ("subset=pid",)'), NO_TREE_CHECK),
    ),
    Guard(
        "proc shows nothing of the kernel",
        "attempt(lambda: os.path.exists('/proc/sys/kernel'))",
        (
            ("launcher/mounts.py", 'PROC = ("hidepid=invisible", "subset=pid")', 'PROC = ("hidepid=invisible",)'),
            NO_TREE_CHECK,
        ),
    ),
    Guard(
        "read-only proc",
        "attempt(lambda: open('/proc/self/oom_score_adj', 'w').write('0'))",
        (
            ("launcher/mounts.py", '_INERT | syscalls.MS_RDONLY, ",".join', '_INERT, ",".join'),
            NO_TREE_CHECK,
            without("landlock"),
        ),
    ),
    Guard(
        "noexec tmpfs",
        "import mmap\nopen('x', 'wb').write(bytes(4096))\nfd = os.open('x', os.O_RDONLY)\n"
        "attempt(lambda: mmap.mmap(fd, 4096, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC))",
        (
            (
                "launcher/mounts.py",
                "flags = _INERT & ~syscalls.MS_NOEXEC if walls.exec_writable else _INERT",
                "flags = _INERT & ~syscalls.MS_NOEXEC",
            ),
            NO_TREE_CHECK,
        ),
    ),
    Guard(
        "no core file",
        "import resource\nattempt(lambda: resource.getrlimit(resource.RLIMIT_CORE) != (0, 0))",
        (
            ("launcher/lockdown.py", "(resource.RLIMIT_CORE, 0),\n        (", "(resource.RLIMIT_CORE, 1),\n        ("),
            ("launcher/lockdown.py", "_CORE = ((resource.RLIMIT_CORE, 0),)", "_CORE = ((resource.RLIMIT_CORE, 1),)"),
        ),
    ),
    Guard(
        "umask",
        "os.close(os.open('made', os.O_CREAT | os.O_WRONLY, 0o666))\nattempt(lambda: os.stat('made').st_mode & 0o077)",
        (
            ("launcher/lockdown.py", "    os.umask(0o077)\n", "    os.umask(0)\n"),
            ("launcher/lockdown.py", 'require(seen["Umask"] == "0077"', "require(True"),
        ),
    ),
)  # fmt: skip


if os.geteuid() == 0:
    # A user has one uid only, which is the guest's from the start.
    GUARDS += (Guard("guest uid", "attempt(lambda: os.getuid() != 1000)", (without("uid"),)),)


@pytest.fixture(scope="module", params=["made ahead", "on demand"])
def told(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Guard → what its attack printed, each in a sandbox of its own that waited for it, or was built for it."""
    sources = {f"open-{number}": TRY + guard.source + END for number, guard in enumerate(GUARDS)}
    size = 0 if request.param == "on demand" else None
    jobs = successive(tmp_path_factory.mktemp("guards"), "light", sources, size=size)
    return {guard.name: job["stdout"] for guard, job in zip(GUARDS, jobs, strict=True)}


@pytest.mark.parametrize("name", [guard.name for guard in GUARDS])
def test_guard_holds(name: str, told: dict[str, str]) -> None:
    assert told[name].startswith("HELD"), told[name]


@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: guard.name)
def test_twin_attack_works_without_the_guard(guard: Guard, tmp_path: Path) -> None:
    seen = attack(TRY + guard.source + END, tmp_path, without=guard.edits)
    assert seen["stdout"][0].startswith("OPEN"), seen
