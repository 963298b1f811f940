"""Behind the filter of the set argv[1] (or `none`), tries what argv[2] says; prints errno for each (0: it worked)."""

import base64
import ctypes
import json
import os
import socket
import sys
import threading

import pyseccomp

from casemate.launcher import syscalls
from casemate.runtime import seccomp

libc = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    """A raw system call by its name, as libseccomp numbers it."""
    number = name if isinstance(name, int) else pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, name)
    result = libc.syscall(ctypes.c_long(number), *(ctypes.c_long(value) for value in arguments))
    return ctypes.get_errno() if result == -1 else 0


def threads():
    """Start one and wait for it."""
    seen = []
    thread = threading.Thread(target=seen.append, args=(1,))
    thread.start()
    thread.join()
    return 0 if seen else -1


def pair():
    """A socket pair that carries bytes."""
    one, two = socket.socketpair()
    one.send(b"x")
    return 0 if two.recv(1) == b"x" else -1


def write_file():
    """A new file, written, renamed and removed."""
    path = f"/tmp/filtered-{os.getpid()}"
    with open(path, "w") as file:
        file.write("x")
    os.rename(path, path + "-2")
    os.unlink(path + "-2")
    return 0


DEEDS = {"threads": threads, "pair": pair, "file": write_file}
wanted = json.loads(sys.argv[2])
if sys.argv[1] != "none":
    program = base64.b64decode(seccomp.compiled(sys.argv[1]), validate=True)
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    syscalls.load_seccomp(program)
answers = [DEEDS[name]() if name in DEEDS else call(name, *rest) for name, *rest in wanted]
print(json.dumps(answers))
