"""Attacks of plain programs on the rows in which their profiles differ from a CAD job's, each with its guard."""

from __future__ import annotations

from dataclasses import dataclass

from escape.test_guards import NO_TREE_CHECK, without

Edits = tuple[tuple[str, str, str], ...]
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
