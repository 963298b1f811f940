"""A stand-in for cgroupfs: enough of both versions to see what is written where, without being root."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from casemate.launcher import cgroups

# What the kernel puts into a new group, as far as we write or read it (admin-guide/cgroup-v1, cgroup-v2).
V1 = {
    "memory": {
        "memory.limit_in_bytes": "9223372036854771712\n",
        "memory.memsw.limit_in_bytes": "9223372036854771712\n",
        "memory.max_usage_in_bytes": "0\n",
        "memory.usage_in_bytes": "0\n",
        "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n",
    },
    "pids": {"pids.max": "max\n", "pids.events": "max 0\n", "pids.peak": "0\n"},
    "cpu": {"cpu.cfs_quota_us": "-1\n", "cpu.cfs_period_us": "100000\n", "cpu.stat": "nr_periods 0\nnr_throttled 0\n"},
    "cpuacct": {"cpuacct.usage": "0\n"},
}
V2 = {
    "cgroup.controllers": "cpu memory pids\n",
    "cgroup.subtree_control": "",
    "cgroup.kill": "",
    "memory.max": "max\n",
    "memory.swap.max": "max\n",
    "memory.peak": "0\n",
    "memory.current": "0\n",
    "memory.events": "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\noom_group_kill 0\n",
    "pids.max": "max\n",
    "pids.peak": "0\n",
    "pids.events": "max 0\n",
    "cpu.max": "max 100000\n",
    "cpu.stat": "usage_usec 0\nuser_usec 0\nsystem_usec 0\n",
}


class Kernel:
    """Plain directories that fill and empty themselves as cgroupfs does, and keep its v2 rule for inner nodes."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self._mkdir, self._rmdir, self._write = os.mkdir, os.rmdir, cgroups._write
        self.log: list[tuple[str, str]] = []
        monkeypatch.setattr(os, "mkdir", self.mkdir)
        monkeypatch.setattr(os, "rmdir", self.rmdir)
        monkeypatch.setattr(cgroups, "_write", self.write)

    def fill(self, path: str) -> None:
        files = V2 if "/unified" in path else V1[path.removeprefix(f"{self.root}/").split("/")[0]]
        for name, text in {**files, "cgroup.procs": ""}.items():
            Path(path, name).write_text(text)

    def mkdir(self, path: str, mode: int = 0o777) -> None:
        self._mkdir(path, mode)
        if str(path).startswith(str(self.root)):
            self.fill(str(path))

    def rmdir(self, path: str) -> None:
        if Path(path, "cgroup.procs").read_text() or any(entry.is_dir() for entry in os.scandir(path)):
            raise OSError(errno.EBUSY, "busy", path)
        for entry in os.scandir(path):
            os.unlink(entry.path)
        self._rmdir(path)

    def write(self, path: str, text: str) -> None:
        self.log.append((os.path.relpath(path, self.root), text))
        directory, name = os.path.split(path)
        if name == "cgroup.subtree_control" and Path(directory, "cgroup.procs").read_text():
            raise OSError(errno.EBUSY, "no internal processes", path)
        if name == "cgroup.procs":
            for other in self.root.rglob("cgroup.procs"):
                other.write_text("".join(f"{pid}\n" for pid in other.read_text().split() if pid != text))
            text = Path(path).read_text() + f"{text}\n"
        self._write(path, text)
