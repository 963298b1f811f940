"""Where the peers run: a process in mount and cgroup namespaces of its own that starts and times them, one by one.

Executed by `unshare --mount --cgroup`, standard library only, never imported. What it mounts nobody else sees, and it
goes with the process; so what the peers need on disk lies on a tmpfs of its own, and their groups are made below ours:

    DIRECTORY        tmpfs: bundles, root file systems, state
    /dev/shm, /run   tmpfs: podman's locks, state that a tool keeps there whatever one tells it
    /sys/fs/cgroup   the subtree of our own group only (cgroup_namespaces(7)): v1 where memory is a v1 controller, and
                     then no v2 beside it, which crun refuses; else v2

One JSON object a line on standard input, `{"argv", "env"}`, is one run; its answer is one line too,
`{"status", "seconds", "stdout", "stderr"}`. The status is that of `waitstatus_to_exitcode`. End of input ends it,
however that came about; groups and directory are then removed.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")
TIMEOUT = 60.0
TAIL_BYTES = 16 << 10
_TOOLS = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}


def _mount(kind: str, options: str, point: Path) -> None:
    subprocess.run(
        ["mount", "-t", kind, "-o", options, kind, str(point)], env=_TOOLS, check=True, capture_output=True, text=True
    )


def _mount_cgroups(name: str) -> None:
    """Show the subtree of our own group, and make the group `name` in each hierarchy of it."""
    lines = [line.split(":", 2)[1] for line in Path("/proc/self/cgroup").read_text("utf-8").splitlines()]
    old = any("memory" in controllers.split(",") for controllers in lines)
    # A user may not take mounts away that came with the namespace (mount_namespaces(7)): they are then covered.
    subprocess.run(["umount", "-R", str(CGROUPS)], env=_TOOLS, check=False, capture_output=True)
    if not old:
        _mount("cgroup2", "rw", CGROUPS)
        (CGROUPS / name).mkdir()
        return
    _mount("tmpfs", "mode=755", CGROUPS)
    for controllers in filter(None, lines):
        named = controllers.startswith("name=")
        point = CGROUPS / controllers.removeprefix("name=")
        point.mkdir()
        _mount("cgroup", f"none,{controllers}" if named else controllers, point)
        with contextlib.suppress(PermissionError):
            (point / name).mkdir()
        for controller in controllers.split(",") if "," in controllers else ():
            (CGROUPS / controller).symlink_to(point.name)


def _remove_cgroups(name: str) -> None:
    """Remove every group called `name` with all below it; one that is still in use is given two seconds."""
    end = time.monotonic() + 2
    for top in (*CGROUPS.glob(f"*/{name}"), *CGROUPS.glob(name)):
        for directory, _, _ in os.walk(top, topdown=False):
            while True:
                try:
                    os.rmdir(directory)
                except OSError as error:
                    if time.monotonic() < end:
                        time.sleep(0.02)
                        continue
                    print(f"stage: {directory}: {error.strerror}", file=sys.stderr)
                break


def _run(argv: list[str], env: dict[str, str], streams: tuple[int, int]) -> dict[str, object]:
    for fd in streams:
        os.ftruncate(fd, 0)
        os.lseek(fd, 0, os.SEEK_SET)
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        *((os.POSIX_SPAWN_DUP2, fd, number) for number, fd in enumerate(streams, 1)),
    ]
    began = time.perf_counter()
    pid = os.posix_spawn(argv[0], argv, env, file_actions=actions)
    process = os.pidfd_open(pid)
    try:
        ended = select.select([process], [], [], TIMEOUT)[0]
        if not ended:
            signal.pidfd_send_signal(process, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    finally:
        os.close(process)
    seconds = time.perf_counter() - began
    stdout, stderr = (
        os.pread(fd, TAIL_BYTES, max(0, os.fstat(fd).st_size - TAIL_BYTES)).decode("utf-8", "replace") for fd in streams
    )
    if not ended:
        stderr += f"\nnot at its end after {TIMEOUT:g} s"
    return {"status": status, "seconds": seconds, "stdout": stdout, "stderr": stderr}


def main(directory: str, name: str) -> None:
    """Set the stage, say `{}` or the reason why there is none, and serve runs until the input ends."""
    os.chdir("/")
    try:
        _mount("tmpfs", "mode=755,size=256m", Path(directory))
        _mount("tmpfs", "mode=1777,size=64m", Path("/dev/shm"))
        _mount("tmpfs", "mode=755,size=64m", Path("/run"))
    except subprocess.CalledProcessError as error:
        print(json.dumps({"error": error.stderr.strip()}), flush=True)
        return
    try:
        try:
            _mount_cgroups(name)
        except (OSError, subprocess.CalledProcessError):
            _mount("tmpfs", "ro,mode=755", CGROUPS)  # no groups rather than any at a root; a peer says what it misses
        streams = (os.memfd_create("stdout"), os.memfd_create("stderr"))
        print(json.dumps({}), flush=True)
        for line in sys.stdin:
            order = json.loads(line)
            try:
                done = _run(order["argv"], order["env"], streams)
            except OSError as error:
                done = {"status": 127, "seconds": 0.0, "stdout": "", "stderr": f"{order['argv'][0]}: {error.strerror}"}
            print(json.dumps(done), flush=True)
    finally:
        _remove_cgroups(name)
        subprocess.run(["umount", "-l", directory], env=_TOOLS, check=True)
        os.rmdir(directory)


if __name__ == "__main__":
    main(*sys.argv[1:])
