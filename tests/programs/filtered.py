"""Behind a filter, tries what argv[2] says; prints errno for each (0: it worked).

argv[1] is a set, with `+unix` and `+inet` for sockets and `-CALL` for each call whose argument rule is taken out; or
`none`. argv[3] is a directory that it may fill. Whoever is root gives that up first, so that a filter that fails lets
nothing happen to the host.
"""

import base64
import ctypes
import fcntl
import json
import mmap
import os
import platform
import pty
import re
import resource
import socket
import sys
import termios
import threading

import pyseccomp

from casemate.launcher import syscalls
from casemate.runtime import seccomp, syscall_rules

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = libc.mremap.restype = ctypes.c_void_p
RWX, RX, RW = 7, 5, 3
PRIVATE, SHARED, ANONYMOUS = 2, 1, 0x20
FAILED = ctypes.c_void_p(-1).value
# f() = 42; f() = getpid() by the 32-bit entry, where there is one.
CODE = {"x86_64": bytes.fromhex("b82a000000c3"), "aarch64": bytes.fromhex("40058052c0035fd6")}[platform.machine()]
ENTRY32 = bytes.fromhex("b814000000cd80c3")


def call(name, *arguments):
    """A raw system call by its name, as libseccomp numbers it."""
    number = name if isinstance(name, int) else pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, name)
    result = libc.syscall(ctypes.c_long(number), *(ctypes.c_long(value) for value in arguments))
    if name == "clone" and result == 0:
        os._exit(0)
    return ctypes.get_errno() if result == -1 else 0


def threads():
    """Start one and wait for it."""
    seen = []
    thread = threading.Thread(target=seen.append, args=(1,))
    thread.start()
    thread.join()
    return 0 if seen else -1


def in_a_thread(*wanted):
    """A call in a second thread; what ends only that thread lets the process live."""
    seen = []
    thread = threading.Thread(target=lambda: seen.append(attempt(wanted)))
    thread.start()
    thread.join()
    return seen[0] if seen else -1


def pair():
    """A socket pair that carries bytes."""
    one, two = socket.socketpair()
    one.send(b"x")
    return 0 if two.recv(1) == b"x" else -1


def write_file():
    """A new file, written, renamed and removed."""
    with open("file", "w") as file:
        file.write("x")
    os.rename("file", "file-2")
    os.unlink("file-2")
    return 0


def opened(flags):
    """Open a file of ours that is there."""
    os.close(os.open("." if flags & os.O_DIRECTORY else "there", flags, 0o600))
    return 0


def node(kind):
    """Make a node of a kind."""
    os.mknod(f"node-{kind}", kind | 0o600)
    return 0


def pages(protection, flags):
    """New pages."""
    return libc.mmap(None, 4096, protection, flags | ANONYMOUS, -1, 0)


def native(way):
    """Write machine code and run it: a page that is both, one that changes, two addresses of one."""
    if way == "both":
        writable = executable = pages(RWX, PRIVATE)
    elif way == "changes":
        writable = executable = pages(RW, PRIVATE)
    else:
        executable = pages(RX, SHARED)
        if executable == FAILED:
            return ctypes.get_errno()
        writable = libc.mremap(ctypes.c_void_p(executable), 0, 4096, 1)
        if libc.mprotect(ctypes.c_void_p(writable), 4096, RW) != 0:
            return ctypes.get_errno()
    if FAILED in (writable, executable):
        return ctypes.get_errno()
    ctypes.memmove(writable, CODE, len(CODE))
    if way == "changes" and libc.mprotect(ctypes.c_void_p(executable), 4096, RX) != 0:
        return ctypes.get_errno()
    return 0 if ctypes.CFUNCTYPE(ctypes.c_int)(executable)() == 42 else -1


def entry32():
    """getpid by int 0x80, with code that was written before the filter."""
    return 0 if function32() == os.getpid() else -1


def stuff_terminal(request):
    """Put a character into the input of our own terminal (ioctl_tty(2))."""
    if libc.ioctl(ctypes.c_int(terminal), ctypes.c_ulong(request), ctypes.c_char_p(b"x")) != 0:
        return ctypes.get_errno()
    return 0 if os.read(terminal, 1) == b"x" else -1


def on_pipe(command, argument):
    """An fcntl on a pipe or, for leases and notices, on what they are for."""
    target = {fcntl.F_SETLEASE: there, fcntl.F_NOTIFY: directory}.get(command, pipe)
    fcntl.fcntl(target, command, argument)
    return 0


def lower_parent():
    """Lower a limit of another process of ours."""
    resource.prlimit(child, resource.RLIMIT_CORE, (0, 0))
    return 0


DEEDS = {
    "threads": threads, "in a thread": in_a_thread, "pair": pair, "file": write_file, "opened": opened, "node": node,
    "native": native, "entry32": entry32, "stuff": stuff_terminal, "on pipe": on_pipe, "lower": lower_parent,
}  # fmt: skip


def attempt(wanted):
    """The errno of one call or deed."""
    name, *rest = wanted
    try:
        return DEEDS[name](*rest) if name in DEEDS else call(name, *rest)
    except OSError as error:
        return error.errno


wanted = json.loads(sys.argv[2])
name, *changes = re.split(r"(?=[+-])", sys.argv[1])
if name != "none":
    for change in changes:
        if change.startswith("-"):
            syscall_rules.RULES.pop(change[1:], None)
            for key in [key for key in syscall_rules.VARIANTS if key[0] == change[1:]]:
                syscall_rules.VARIANTS[key] = ((),)
    program = base64.b64decode(seccomp.compiled(name, unix="+unix" in changes, inet="+inet" in changes), validate=True)
used = {name for name, *_ in wanted} | {rest[0] for name, *rest in wanted if name == "in a thread"}
os.chdir(sys.argv[3])
if "stuff" in used:
    # As root: since Linux 6.2 the request may need a capability.
    os.setsid()
    terminal = os.open(os.ttyname(pty.openpty()[1]), os.O_RDWR)
    attributes = termios.tcgetattr(terminal)
    attributes[3] &= ~termios.ICANON
    termios.tcsetattr(terminal, termios.TCSANOW, attributes)
elif os.geteuid() == 0:
    os.chown(".", 65534, 65534)
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)
os.close(os.open("there", os.O_CREAT | os.O_WRONLY, 0o600))
there, directory, pipe = os.open("there", os.O_RDONLY), os.open(".", os.O_RDONLY), os.pipe()[0]
memory = mmap.mmap(-1, 4096, prot=RWX)
memory.write(ENTRY32)
function32 = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
alive = os.pipe()
child = os.fork()
if child == 0:
    os.close(alive[1])
    os.read(alive[0], 1)  # ends with its parent
    os._exit(0)
if name != "none":
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    syscalls.load_seccomp(program)
print(json.dumps([attempt(one) for one in wanted]), flush=True)
os._exit(0)  # as a guest ends
