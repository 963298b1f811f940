"""The command line of one job in each peer, and the files that it needs: decided here, done in `peers`.

Written from bwrap(1), nsjail(1), crun(1), runc(8), podman-run(1) and the OCI runtime specification (config.md,
config-linux.md).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MEMORY, PROCESSES = 256 << 20, 64
"""Bounds of a job, in bytes and tasks, where a peer sets any."""
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

_TOP = ("/bin", "/lib", "/lib32", "/lib64", "/libx32", "/sbin")
_FILES = ("/etc/ld.so.cache",)
_MOUNT_POINTS = ("/dev", "/proc", "/tmp")


@dataclass(frozen=True, slots=True)
class Layout:
    """The root file system of every peer: what is bound from the host read-only, and the links of a merged /usr."""

    directories: tuple[str, ...]
    files: tuple[str, ...]
    links: tuple[tuple[str, str], ...]
    """Path and target."""

    @property
    def binds(self) -> tuple[str, ...]:
        """All that is bound, at the place where the host has it."""
        return (*self.directories, *self.files)

    def make(self, root: Path) -> None:
        """Make the links and mount points below `root`."""
        for directory in (*self.directories, *_MOUNT_POINTS):
            (root / directory[1:]).mkdir(parents=True, exist_ok=True)
        for file in self.files:
            (root / file[1:]).parent.mkdir(parents=True, exist_ok=True)
            (root / file[1:]).touch()
        for path, target in self.links:
            (root / path[1:]).symlink_to(target)


def host_layout() -> Layout:
    """What this interpreter needs: /usr, the libraries, where it is installed, and its virtual environment."""
    top = [path for path in _TOP if os.path.isdir(path) and not os.path.islink(path)]
    links = [(path, os.readlink(path)) for path in _TOP if os.path.islink(path)]
    directories = ["/usr", *top]
    for path in (sys.base_prefix, sys.prefix):
        if not any(path == there or path.startswith(f"{there}/") for there in directories):
            directories.append(path)
    return Layout(tuple(directories), tuple(path for path in _FILES if os.path.isfile(path)), tuple(links))


@dataclass(frozen=True, slots=True)
class Job:
    """One program in one peer."""

    place: Path
    """The peer's own directory, as it sees it: `rootfs`, for the OCI runtimes `config.json`, and room for its state."""
    group: str
    """Name of the cgroup, below the root that it sees, under which its own belong."""
    layout: Layout
    program: tuple[str, ...]
    bounded: bool
    """Whether memory and processes are to be bounded."""
    number: int
    """Which run it is: containers need names that nobody had."""

    @property
    def root(self) -> str:
        """Its root file system."""
        return str(self.place / "rootfs")

    @property
    def name(self) -> str:
        """Of the container."""
        return f"{self.group}-{self.place.name}-{self.number}"


def bubblewrap(command: str, job: Job) -> list[str]:
    """`--unshare-all` alone would do without user and cgroup namespaces where there are none."""
    return [
        command, "--unshare-all", "--unshare-user", "--unshare-cgroup", "--die-with-parent", "--new-session",
        "--cap-drop", "ALL", "--clearenv", "--setenv", "PATH", PATH, "--ro-bind", job.root, "/",
        "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",
        *(word for path in job.layout.binds for word in ("--ro-bind", path, path)), "--chdir", "/", "--", *job.program,
    ]  # fmt: skip


def nsjail(command: str, job: Job) -> list[str]:
    """Every namespace, no capability and no environment are its defaults; so is niceness 19, which would be unfair."""
    bounds = [
        "--cgroup_mem_max", str(MEMORY), "--cgroup_mem_parent", job.group,
        "--cgroup_pids_max", str(PROCESSES), "--cgroup_pids_parent", job.group,
        "--detect_cgroupv2", "--cgroupv2_mount", f"/sys/fs/cgroup/{job.group}",
    ]  # fmt: skip
    return [
        command, "--mode", "o", "--quiet", "--nice_level", "0", "--user", "0:0:1", "--group", "0:0:1",
        "--env", f"PATH={PATH}", "--chroot", job.root, "--tmpfsmount", "/tmp", "--tmpfsmount", "/dev",
        *(word for path in job.layout.binds for word in ("--bindmount_ro", path)),
        *(word for name in ("null", "zero", "urandom") for word in ("--bindmount", f"/dev/{name}")),
        *(bounds if job.bounded else ()), "--", *job.program,
    ]  # fmt: skip


def crun(command: str, job: Job) -> list[str]:
    """The rest is in its bundle, see `bundle`."""
    without = () if job.bounded else ("--cgroup-manager", "disabled")
    return [command, "--root", str(job.place / "state"), *without, "run", "--bundle", str(job.place), job.name]


def runc(command: str, job: Job) -> list[str]:
    """The rest is in its bundle, see `bundle`."""
    return [command, "--root", str(job.place / "state"), "run", "--bundle", str(job.place), job.name]


def podman(command: str, job: Job) -> list[str]:
    """Without image or storage: the root is a directory. Only it has a system-call filter, its own."""
    state = str(job.place / "state")
    bounds = ["--memory", str(MEMORY), "--pids-limit", str(PROCESSES), "--cgroup-parent", f"/{job.group}"]
    return [
        command, "--root", state, "--runroot", f"{job.place}/run", "--tmpdir", f"{job.place}/tmp",
        "--storage-driver", "vfs", "--cgroup-manager", "cgroupfs", "--events-backend", "none",
        "run", "--rm", "--name", job.name,
        "--network", "none", "--cgroupns", "private", "--uidmap", "0:0:1", "--gidmap", "0:0:1", "--cap-drop", "all",
        "--security-opt", "no-new-privileges", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024",
        "--read-only", "--read-only-tmpfs=false", "--tmpfs", "/tmp", "--log-driver", "none", "--env", f"PATH={PATH}",
        *(word for path in job.layout.binds for word in ("--volume", f"{path}:{path}:ro")),
        *(bounds if job.bounded else ("--cgroups", "disabled")), "--rootfs", job.root, *job.program,
    ]  # fmt: skip


def bundle(generated: Mapping[str, Any], job: Job) -> dict[str, Any]:
    """The configuration of an OCI bundle, from the one that `crun spec` or `runc spec` generates."""
    process, linux = dict(generated["process"]), dict(generated["linux"])
    process |= {
        "terminal": False, "args": list(job.program), "env": [f"PATH={PATH}"], "cwd": "/", "noNewPrivileges": True,
        "capabilities": {kind: [] for kind in process["capabilities"]},
    }  # fmt: skip
    whole = [{"containerID": 0, "hostID": 0, "size": 1}]
    kinds = ("user", "mount", "pid", "network", "ipc", "uts", "cgroup")
    linux |= {"namespaces": [{"type": kind} for kind in kinds], "uidMappings": whole, "gidMappings": whole}
    if job.bounded:
        linux["cgroupsPath"] = f"/{job.group}/{job.place.name}"
        linux["resources"] = {
            **linux.get("resources", {}), "memory": {"limit": MEMORY}, "pids": {"limit": PROCESSES},
        }  # fmt: skip
    else:
        linux.pop("resources", None)
    mounts = [mount for mount in generated["mounts"] if mount["destination"] in ("/proc", "/dev")]
    mounts.append({"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "nodev"]})
    mounts += [_bind(path) for path in job.layout.binds]
    root = {"path": "rootfs", "readonly": True}
    return {**generated, "root": root, "process": process, "mounts": mounts, "linux": linux}


def _bind(path: str) -> dict[str, Any]:
    return {"destination": path, "type": "bind", "source": path, "options": ["rbind", "ro", "nosuid", "nodev"]}


def environment(job: Job) -> dict[str, str]:
    """What the tool itself is given: podman finds its parts through PATH and its files through HOME."""
    return {"PATH": PATH, "HOME": str(job.place)}


def interpreter(arguments: Sequence[str]) -> tuple[str, ...]:
    """This interpreter with arguments: what peers run, and what to compare them with.

    That of the virtual environment, if there is one: packages beside the one below it may work at every start (.pth).
    """
    return (sys.executable, *arguments)
