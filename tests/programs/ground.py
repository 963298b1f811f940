"""Runs tests where a mutant can harm nobody: encloses itself and becomes mutants/server.py.

Argument: directory of a copy of the project; orders come on a pipe in there, answers go to standard output.

It is in the harness's cgroup already. Here come a pid namespace (nothing outside can be signalled: what a mutant kills
is in here), a mount namespace in which all is read-only but the copy, /tmp, /run and the cgroups, and a network
namespace with nothing but its loopback. When the server ends, so does the pid namespace with all in it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import socket
import struct
import sys
import traceback

from casemate.launcher import syscalls

FLAGS = syscalls.CLONE_NEWNS | syscalls.CLONE_NEWNET | syscalls.CLONE_NEWIPC | syscalls.CLONE_NEWUTS
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
AT_RECURSIVE, MOUNT_ATTR_RDONLY = 0x8000, 1


def mounts(copy: str) -> None:
    """All read-only but what tests write."""
    syscalls.mount("none", "/", None, syscalls.MS_REC | syscalls.MS_PRIVATE)
    kept = {place: os.open(place, os.O_PATH | os.O_CLOEXEC) for place in (copy, sys.prefix)}
    groups = cgroup_mounts()
    # What is left as it is: cgroups and devices. The rest is remounted one by one, with the flags that it has.
    for point, flags in own_mounts():
        if point not in groups and not point.startswith(("/proc", "/dev")):
            with contextlib.suppress(OSError):
                syscalls.mount("none", point, None, syscalls.MS_BIND | MS_REMOUNT | syscalls.MS_RDONLY | flags)
    for place in ("/tmp", "/run", "/var/tmp"):
        syscalls.mount("tmpfs", place, "tmpfs", syscalls.MS_NOSUID | syscalls.MS_NODEV, "mode=1777,size=2g")
    for place, held in kept.items():  # either may have been below those
        with contextlib.suppress(OSError):
            os.makedirs(place, exist_ok=True)
        syscalls.mount(f"/proc/self/fd/{held}", place, None, syscalls.MS_BIND | syscalls.MS_REC)
        writable = 0 if place == copy else syscalls.MS_RDONLY
        syscalls.mount("none", place, None, syscalls.MS_BIND | MS_REMOUNT | writable)
        os.close(held)


MS_REMOUNT = 32
_FLAGS = {"nosuid": syscalls.MS_NOSUID, "nodev": syscalls.MS_NODEV, "noexec": syscalls.MS_NOEXEC}


def own_mounts() -> list[tuple[str, int]]:
    """Mount points and the flags that a remount must keep."""
    found = []
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        for line in file:
            parts = line.split(" ")
            found.append((parts[4], sum(_FLAGS.get(word, 0) for word in parts[5].split(","))))
    return found


def cgroup_mounts() -> set[str]:
    """Where cgroups are mounted."""
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        return {line.split(" ")[4] for line in file if line.partition(" - ")[2].startswith("cgroup")}


def serve(copy: str) -> None:
    """As the first process of the pid namespace: become the one that runs tests."""
    syscalls.mount("proc", "/proc", "proc", syscalls.MS_NOSUID | syscalls.MS_NODEV | syscalls.MS_NOEXEC)
    with socket.socket() as plain:
        fcntl.ioctl(plain, SIOCSIFFLAGS, struct.pack("16sh", b"lo", IFF_UP))
    paths = {"PYTHONPATH": f"{copy}/src:{copy}/tests:{copy}", "HYPOTHESIS_STORAGE_DIRECTORY": "/tmp/hypothesis"}
    environment = {name: value for name, value in os.environ.items() if name != "CI"} | paths
    os.chdir(copy)
    os.execve(sys.executable, [sys.executable, "-m", "mutants.server", copy], environment)


def main() -> None:
    """Set up, and wait for the namespace to end."""
    copy = sys.argv[1]
    syscalls.unshare(FLAGS)
    mounts(copy)
    syscalls.unshare(syscalls.CLONE_NEWPID)
    pid = os.fork()
    if pid == 0:
        try:
            syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
            serve(copy)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
