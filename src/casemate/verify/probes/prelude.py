"""Runs inside a sandbox, before a family's own source. Plain Python, standard library; CONFIG was defined above it."""

import contextlib
import errno
import json
import mmap
import os
import re
import select
import signal
import socket
import stat
import struct
import sys
import time

try:
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
except (ImportError, OSError):
    libc = None

CANARY = re.compile(rb"casemate-canary-" + rb"[0-9a-f]{32}")
WAIT = 4.0 if CONFIG["together"] > 1 else 30.0
TO_BE_SEEN = 40.0


def tell(name, **answer):
    """One line of at most PIPE_BUF bytes, so that no two are mixed."""
    line = json.dumps({"probe": name, "nonce": CONFIG["nonces"].get(name, ""), **answer})
    os.write(1, line.encode() + b"\n")


def cut(value):
    text = value if isinstance(value, str) else repr(value)
    return text[:600]


NAME = ""


def tried(name, code):
    """What an expression gave, as an answer."""
    global NAME
    NAME = name
    try:
        found = eval(code, globals())
    except OSError as error:
        return {"refused": errno.errorcode.get(error.errno, type(error).__name__), "detail": cut(str(error))}
    except BaseException as error:
        return {"refused": type(error).__name__, "detail": cut(str(error))}
    return {"got": cut(found)} if found else {"refused": "nothing", "detail": cut(found)}


def attempt(probes):
    """Probes one after the other in a fork, because an attack may end, hang or change the process it runs in.

    What ends the fork ends its own probe only: killed for a call it was refused, otherwise it gives no answer. Where
    nobody may fork they run here.
    """
    begun = mmap.mmap(-1, 4096)  # shared: how many of them have begun
    while probes:
        begun[0] = 0
        pid = -1
        with contextlib.suppress(OSError):
            pid = os.fork()
        if pid <= 0:
            for name, code, _ in probes:
                begun[0] += 1
                if pid == 0:
                    signal.setitimer(signal.ITIMER_REAL, WAIT)
                tell(name, **tried(name, code))
            if pid == 0:
                os._exit(0)
            return
        _, status = os.waitpid(pid, 0)
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGSYS:
            tell(probes[begun[0] - 1][0], refused="SIGSYS", detail="")
        probes = probes[max(1, begun[0]) :]


def call(name, *arguments):
    """A raw system call by name or number; raises OSError."""
    number = name if isinstance(name, int) else CONFIG["numbers"][name]
    if number is None:
        raise OSError(errno.ENOSYS, f"{name} has no number here")
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    libc.syscall.restype = ctypes.c_long
    result = libc.syscall(ctypes.c_long(number), *words)
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
    return result


def reached(name, *arguments):
    """True if the kernel got to see a call: any answer but the filter's own."""
    if CONFIG["numbers"][name] is None:
        raise OSError(errno.ENOSYS, f"{name} has no number on this machine")
    try:
        call(name, *arguments)
    except OSError as error:
        if error.errno == CONFIG["refusals"].get(name, errno.EPERM):
            raise
        return f"reached: {errno.errorcode.get(error.errno, error.errno)}"
    return "it worked"


def read(path, size=4096):
    """What a file begins with."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        return os.read(fd, size).decode("latin-1")
    finally:
        os.close(fd)


def writable(path):
    """Whether a file can be opened to be written, by whoever we can be, without a byte being written."""
    try:
        fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    except PermissionError:
        if not become_another():
            raise
        fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    rdev = os.fstat(fd).st_rdev
    os.close(fd)
    return "" if rdev == os.makedev(1, 3) else f"{path} can be written"  # the null device masks it


def become_another():
    """Whether we could become another of those that our user namespace has: the last that can be."""
    found = False
    for line in read("/proc/self/uid_map").splitlines():
        uid = int(line.split()[0])
        with contextlib.suppress(OSError):
            os.setresuid(uid, uid, uid)
            found = True
    return found


def own_pids():
    """This process and its parent, as /proc says: a set need not have getpid."""
    fields = read("/proc/self/stat").rpartition(")")[2].split()
    return {int(read("/proc/self/stat").split()[0]), int(fields[1])}


def canaries(data):
    """Canaries in some bytes."""
    return sorted({found.decode() for found in CANARY.findall(data)})


def rest(seconds):
    """Sleep, where the set lets one."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        with contextlib.suppress(OSError):
            time.sleep(left)


def wait_to_be_seen():
    """Say so by a second descriptor of the output, and wait until somebody outside has looked."""
    released = []
    signal.signal(signal.SIGUSR1, lambda *_: released.append(True))
    os.dup2(1, CONFIG["mark"])
    end = time.monotonic() + TO_BE_SEEN
    while not released and time.monotonic() < end:
        rest(0.01)


def run_probes():
    """Forks are costly for a process that holds a CAD library, so several probes share one (`together`)."""
    group = []
    for probe in CONFIG["probes"]:
        name, code, isolated = probe
        if isolated:
            group.append(probe)
        if not isolated or len(group) == CONFIG["together"]:
            attempt(group)
            group = []
        if not isolated:
            tell(name, **tried(name, code))
    attempt(group)
    if CONFIG["look"]:
        wait_to_be_seen()
    tell("end")
