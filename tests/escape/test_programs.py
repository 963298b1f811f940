"""Each row in which plain programs differ from CAD jobs: attacks that must not work, and each with the guard taken out.

Attacks on the same profile share one sandbox and print a line each. A twin runs them against a launcher from which
their guard is missing; those with the same guard share a sandbox too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from escape.test_guards import NO_TREE_CHECK, without
from harness import Launch, launches
from policy.written import text_of

from casemate import Limit, Reason
from casemate.launcher import cgroups

CGROUPS = not cgroups.survey().missing
PYTHON = "python" if CGROUPS else "python-rlimit"
NEEDS_CGROUP = pytest.mark.skipif(not CGROUPS, reason="needs memory, pids and cpu controllers")
Edits = tuple[tuple[str, str, str], ...]
Seen = dict[Launch, dict[str, Any]]
TRY = """
import fcntl, mmap, os, socket, subprocess, sys, threading, time
def attempt(name, what):
    try:
        found = what()
    except BaseException as error:
        print(f"{name}:", "HELD", type(error).__name__, error)
    else:
        print(f"{name}:", "OPEN" if found else "HELD", found)
def copied(path="x"):
    with open("/usr/bin/true", "rb") as source, open(path, "wb") as target:
        target.write(source.read())
    os.chmod(path, 0o755)
    return path
"""


@dataclass(frozen=True)
class Attack:
    """What is tried, under which profile, and the edits of the launcher after which it works."""

    name: str
    profile: str
    attempt: str
    edits: Edits
    setup: str = ""

    @property
    def source(self) -> str:
        return f"{self.setup}\nattempt({self.name!r}, lambda: {self.attempt})\n"


PROFILES: dict[str, tuple[tuple[str, str], ...]] = {
    "plain": (),
    "noexec": (("exec_writable = true", "exec_writable = false"),),
    "bare": (
        ("pty = true", "pty = false"), ('view = "masked"', 'view = "pid"'), ("sockets = 256", "sockets = 0"),
        ('variables = ["HOME=/tmp", "LANG=C.UTF-8", "PATH=/usr/bin:/bin"]', "variables = []"),
    ),
    "loopback": (('loopback = "down"', 'loopback = "up"'),),
    "strict": (),
}  # fmt: skip
"""Name → edits of `python.toml` (or `strict.toml`)."""

NOEXEC = (
    ("launcher/mounts.py", "flags = _INERT & ~syscalls.MS_NOEXEC if walls.exec_writable else _INERT",
     "flags = _INERT & ~syscalls.MS_NOEXEC"),
    NO_TREE_CHECK,
)  # fmt: skip
LANDLOCK_EXECUTE = ("launcher/lockdown.py", "(_EXECUTE if walls.exec_writable else 0)", "_EXECUTE")
MASKS = (
    ("launcher/mounts.py", "    if walls.masked:\n        for path", "    if False:\n        for path"),
    NO_TREE_CHECK,
)
READ_ONLY_TMP = (("launcher/mounts.py", "    if not walls.writable:", "    if False:"), NO_TREE_CHECK)
PIDS = (
    "launcher/cgroups.py",
    '"pids.max", "pids.max", str(processes), str(processes)',
    '"pids.max", "pids.max", "300", "300"',
)
TERMINALS = (
    ("launcher/mounts.py", "    if walls.pty:", "    if True:"),
    NO_TREE_CHECK,
    without("seccomp", "landlock"),
)
LOADER = "/lib64/ld-linux-x86-64.so.2"

ATTACKS = (
    Attack("execute a written file", "noexec", "subprocess.run([os.path.abspath(copied())]).returncode == 0",
           (*NOEXEC, LANDLOCK_EXECUTE)),
    Attack("loader trick", "noexec", f"subprocess.run([{LOADER!r}, os.path.abspath(copied())]).returncode == 0",
           NOEXEC),  # Landlock sees the loader executed, and nothing else
    Attack("map a written file to execute it", "noexec",
           "mmap.mmap(os.open(copied(), os.O_RDONLY), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)",
           NOEXEC),
    Attack("execute a memfd", "noexec", "fork_execute()", (without("seccomp"),), """
def fork_execute():
    fd = os.memfd_create("x")
    os.write(fd, open("/usr/bin/true", "rb").read())
    pid = os.fork()
    if pid == 0:
        try:
            os.execve(fd, ["true"], {})
        finally:
            os._exit(9)
    return os.waitpid(pid, 0)[1] == 0
"""),
    Attack("execute a memfd where writing may be executed", "plain", "fork_execute()", (without("seccomp"),), """
def fork_execute():
    fd = os.memfd_create("x")
    os.write(fd, open("/usr/bin/true", "rb").read())
    return subprocess.run([f"/proc/self/fd/{fd}"], pass_fds=[fd]).returncode == 0
"""),
    Attack("execveat", "plain", "execute_at()", (without("seccomp"),), """
def execute_at():
    import ctypes
    pid = os.fork()
    if pid == 0:
        argv = (ctypes.c_char_p * 2)(b"true", None)
        ctypes.CDLL(None).syscall(322, -100, b"/usr/bin/true", argv, 0, 0)
        os._exit(9)
    return os.waitpid(pid, 0)[1] == 0
"""),
    Attack("a line discipline", "plain", "fcntl.ioctl(os.openpty()[1], 0x5423, bytes(4)) is not None",  # TIOCSETD
           (without("seccomp"),)),
    Attack("more terminals than there are", "plain", "[os.openpty() for _ in range(17)]",
           (("launcher/mounts.py", "max=16", "max=64"), NO_TREE_CHECK)),
    Attack("a terminal", "bare", "os.openpty()", TERMINALS),
    Attack("what the kernel tells", "plain",
           "sum(len(open(f'/proc/{name}', 'rb').read(9)) for name in ('kallsyms', 'iomem', 'cmdline', 'partitions'))",
           MASKS),
    Attack("directories of the kernel", "plain",
           "sum(len(os.listdir(f'/proc/{name}')) for name in ('bus', 'fs', 'irq', 'tty', 'sysvipc'))", MASKS),
    Attack("more than processes", "bare", "open('/proc/meminfo').read(9)",
           (("launcher/mounts.py", "PROC[:1] if walls.masked else PROC\n", "PROC[:1]\n"), NO_TREE_CHECK)),
    Attack("its own oom score", "plain", "open('/proc/self/oom_score_adj', 'w').write('0')",
           (("launcher/mounts.py", '_INERT | syscalls.MS_RDONLY, ",".join', '_INERT, ",".join'), NO_TREE_CHECK,
            without("landlock"))),
    Attack("the loopback is up", "plain", "'127.0.0.1' in open('/proc/net/fib_trie').read()",
           (("launcher/enclose.py", "    if site.loopback:", "    if True:"),
            ("launcher/enclose.py", 'require(up == (["lo"]', 'require(True or up == (["lo"]'))),
    Attack("TCP", "plain", "socket.socket(socket.AF_INET)", (without("seccomp"),)),
    Attack("TCP over IPv6", "plain", "socket.socket(socket.AF_INET6)", (without("seccomp"),)),
    Attack("UDP beside TCP", "loopback", "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)", (without("seccomp"),)),
    Attack("MPTCP beside TCP", "loopback", "socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)",
           (without("seccomp"),)),
    Attack("netlink", "loopback", "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)", (without("seccomp"),)),
    Attack("a socket", "bare", "socket.socket(socket.AF_UNIX)", (without("seccomp"),)),
    Attack("a name for a socket or FIFO", "bare", "os.mkfifo('pipe') or os.path.exists('pipe')",
           (without("landlock"),)),
    Attack("variables of the template", "plain",
           "set(os.environ) - {'HOME', 'LANG', 'PATH'} or b'OMP' in subprocess.check_output(['/usr/bin/env'])",
           (without("environment"),)),
    Attack("variables for a child", "bare", "subprocess.check_output(['/usr/bin/env'])", (without("environment"),)),
    Attack("write a file", "strict", "open('x', 'w')", (without("seccomp", "landlock"), *READ_ONLY_TMP)),
    Attack("write to /dev/shm", "strict", "open('/dev/shm/x', 'w')", (without("seccomp", "landlock"), *READ_ONLY_TMP)),
    Attack("a thread", "strict", "threading.Thread(target=int).start() or True",
           (without("seccomp"), PIDS)),
    Attack("execute", "strict", "subprocess.run(['/usr/bin/true']).returncode == 0",
           (without("seccomp", "landlock"), PIDS)),
    Attack("a terminal of strict", "strict", "os.openpty()", TERMINALS),
)  # fmt: skip


def written(name: str) -> str:
    """The text of a profile for tests."""
    text = text_of("strict" if name == "strict" else PYTHON)
    for old, new in PROFILES[name]:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def launch(name: str, *attacks: Attack, edits: Edits = (), ahead: bool = True) -> Launch:
    return Launch(TRY + "".join(each.source for each in attacks), written(name), edits, ahead)


def lines(seen: dict[str, Any], *attacks: Attack) -> dict[str, str]:
    """Attack → what it printed."""
    found = {
        each.name: line.removeprefix(f"{each.name}: ")
        for line in seen["stdout"].splitlines()
        for each in attacks
        if line.startswith(f"{each.name}: ")
    }
    assert set(found) == {each.name for each in attacks}, seen
    return found


def of(profile: str) -> tuple[Attack, ...]:
    return tuple(each for each in ATTACKS if each.profile == profile)


def named(name: str) -> Attack:
    [found] = [each for each in ATTACKS if each.name == name]
    return found


def on_this_host(profile: str) -> bool:
    return CGROUPS or profile != "strict"


TWINS: dict[tuple[str, Edits], tuple[Attack, ...]] = {
    (name, edits): tuple(each for each in of(name) if each.edits == edits)
    for name in PROFILES
    for edits in {each.edits: None for each in of(name)}
}
EXECUTE, WRITE = named("execute a written file"), named("write a file")
LEFT_ALONE = {
    "execute, Landlock": (EXECUTE, NOEXEC, "PermissionError"),
    "execute, noexec": (EXECUTE, (LANDLOCK_EXECUTE,), "PermissionError"),
    "write, mount": (WRITE, (without("seccomp", "landlock"),), "[Errno 30]"),  # EROFS
    "write, Landlock": (WRITE, (without("seccomp"), *READ_ONLY_TMP), "[Errno 13]"),  # EACCES
    "write, seccomp": (WRITE, (without("landlock"), *READ_ONLY_TMP), "[Errno 1]"),  # EPERM
}
"""One of several guards of the same thing is left, and holds: what is taken out, and how it refuses."""
FORK = Launch(TRY + "attempt('fork', os.fork)\n", written("strict"), (without("seccomp", "limits"),))
"""The cgroup alone."""
BOMB = Launch("""
import os, time
done = 0
try:
    while done < 400:
        os.fork() or (time.sleep(60), os._exit(0))
        done += 1
except OSError as error:
    print("refused", error.errno, done)
else:
    print("passed", done)
""", written("plain"))  # fmt: skip
HOG = Launch("""
import os, time
for _ in range(6):
    if not os.fork():
        kept = b'x' * (300 << 20)
        time.sleep(60)
time.sleep(60)
""", written("plain"))  # fmt: skip


@pytest.fixture(scope="module", params=[True, False], ids=["ahead", "on_demand"])
def held(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Profile → what became of all attacks on it, in a sandbox that was made ahead or was built for them."""
    wanted = {name: launch(name, *of(name), ahead=request.param) for name in PROFILES if on_this_host(name)}
    seen = launches(tmp_path_factory.mktemp("held"), [*wanted.values()])
    return {name: seen[each] for name, each in wanted.items()}


@pytest.fixture(scope="module")
def weak(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Seen]:
    """Of one profile at a time: launchers without one guard or another, and programs that only the cgroup ends."""

    @functools.cache
    def of_profile(profile: str) -> Seen:
        wanted = [launch(name, *found, edits=edits) for (name, edits), found in TWINS.items() if name == profile]
        wanted += [
            launch(profile, each, edits=edits) for each, edits, _ in LEFT_ALONE.values() if each.profile == profile
        ]
        wanted += {"plain": [BOMB, *([HOG] if CGROUPS else [])], "strict": [FORK]}.get(profile, [])
        return launches(tmp_path_factory.mktemp(profile), wanted)

    return of_profile


def needs(profile: str) -> None:
    if not on_this_host(profile):
        pytest.skip("strict needs memory, pids and cpu controllers")


@pytest.mark.parametrize("profile", PROFILES)
def test_every_attack_is_held(profile: str, held: dict[str, dict[str, Any]]) -> None:
    needs(profile)
    found = lines(held[profile], *of(profile))
    assert {name: line for name, line in found.items() if not line.startswith("HELD")} == {}


@pytest.mark.parametrize("each", ATTACKS, ids=lambda each: each.name)
def test_twin_works_without_the_guard(each: Attack, weak: Callable[[str], Seen]) -> None:
    needs(each.profile)
    together = TWINS[each.profile, each.edits]
    found = lines(weak(each.profile)[launch(each.profile, *together, edits=each.edits)], *together)
    assert found[each.name].startswith("OPEN"), found


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_a_guard_that_is_left_alone_holds(name: str, weak: Callable[[str], Seen]) -> None:
    each, edits, how = LEFT_ALONE[name]
    needs(each.profile)
    line = lines(weak(each.profile)[launch(each.profile, each, edits=edits)], each)[each.name]
    assert line.startswith("HELD"), line
    assert how in line


@NEEDS_CGROUP
def test_one_process_is_held_by_the_cgroup_too_and_counted(weak: Callable[[str], Seen]) -> None:
    assert weak("strict")[FORK]["stdout"].startswith("fork: HELD BlockingIOError"), weak("strict")[FORK]
    assert weak("strict")[FORK]["refused"] == ["processes"]


def test_a_fork_bomb_is_refused_and_dies_with_its_program(weak: Callable[[str], Seen]) -> None:
    word, errno, done = weak("plain")[BOMB]["stdout"].split()
    assert (word, errno, weak("plain")[BOMB]["reason"]) == ("refused", "11", Reason.EXITED)
    assert int(done) <= 64


@NEEDS_CGROUP
def test_a_memory_hog_of_processes_is_named_by_the_cgroup(weak: Callable[[str], Seen]) -> None:
    assert (weak("plain")[HOG]["reason"], weak("plain")[HOG]["limit"]) == (Reason.LIMIT, Limit.MEMORY)
