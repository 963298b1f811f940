"""Tries, in a process of its own, what the walls need from this host, and prints what it found as JSON.

For each layer the value is "" if it is there, else the reason and, where we know it, the remedy. Nothing is assumed
from a version number: each thing is done once, in forks that end."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Callable

from . import cgroups, syscalls


def _sysctl(name: str) -> str:
    try:
        with open(f"/proc/sys/{name}", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def _user_namespaces() -> None:
    syscalls.unshare(
        syscalls.CLONE_NEWUSER | syscalls.CLONE_NEWNS | syscalls.CLONE_NEWNET | syscalls.CLONE_NEWIPC
        | syscalls.CLONE_NEWUTS | syscalls.CLONE_NEWPID | syscalls.CLONE_NEWCGROUP
    )  # fmt: skip
    syscalls.mount("none", "/", None, syscalls.MS_REC | syscalls.MS_PRIVATE)
    syscalls.mount("tmpfs", "/tmp", "tmpfs", syscalls.MS_NOSUID | syscalls.MS_NODEV)
    syscalls.mount_setattr("/tmp", syscalls.MOUNT_ATTR_RDONLY)


def _user_namespace_remedy() -> str:
    if _sysctl("user/max_user_namespaces") == "0":
        return "sysctl -w user.max_user_namespaces=10000"
    if _sysctl("kernel/unprivileged_userns_clone") == "0":
        return "sysctl -w kernel.unprivileged_userns_clone=1"
    if _sysctl("kernel/apparmor_restrict_unprivileged_userns") == "1":
        return (
            f"an AppArmor profile that allows `userns` for {sys.executable}, "
            "or sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
        )
    return "a kernel with user namespaces (5.14 or later), and a container runtime that allows unshare and mount"


def _seccomp() -> None:
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    # One instruction: return SECCOMP_RET_ALLOW.
    syscalls.load_seccomp(b"\x06\x00\x00\x00\x00\x00\xff\x7f")


def _landlock() -> None:
    if syscalls.landlock_abi() == 0:
        raise OSError("not in this kernel, or not among its active security modules")
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    syscalls.landlock_restrict(syscalls.landlock_abi(), [], tcp=False)


def _tried(action: Callable[[], None]) -> str:
    """What went wrong with `action` in a fork, or "". A fork that was killed for trying has not succeeded."""
    out, into = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            action()
            status = 0
        except BaseException as error:
            os.write(into, f"{error}".encode()[:2000])
        finally:
            os._exit(status)
    os.close(into)
    with os.fdopen(out, "rb") as pipe:
        message = pipe.read(2000).decode("utf-8", "replace")
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return message or (f"the attempt ended with {status}" if status else "")


def main(_: list[str]) -> int:
    """Print {"layers": {name: ""|reason}, "host": {name: text}}."""
    layers: dict[str, str] = {}
    if why := _tried(_user_namespaces):
        why = f"{why}; remedy: {_user_namespace_remedy()}"
    layers["user-namespaces"] = why
    if why := _tried(_seccomp):
        why = f"{why}; remedy: a kernel with CONFIG_SECCOMP_FILTER"
    layers["seccomp"] = why
    if why := _tried(_landlock):
        why = f"{why}; remedy: a kernel from 5.13 on with landlock in its lsm= list"
    layers["landlock"] = why
    found = cgroups.survey()
    missing = dict(found.missing)
    for controller in cgroups.NEEDED:
        layers[f"cgroup-{controller}"] = missing.get(controller, "")
    host = {
        "kernel": platform.release(),
        "machine": platform.machine(),
        "user": "root" if os.geteuid() == 0 else f"uid {os.geteuid()}",
        "landlock": f"ABI {syscalls.landlock_abi()}",
        "cgroup": ", ".join(f"{c} v{found.version(c)}" if found.version(c) else f"{c} none" for c in cgroups.NEEDED),
    }
    print(json.dumps({"layers": layers, "host": host}))
    return 0
