"""In the virtual machine, as root: runs the cases one after the other, and prints one line of JSON for each.

The first line says what machine this is, the last that all has been run. Standard library only.
"""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from cases import CASES, PLACES, PROJECT, Case, Done

ENVIRONMENT = {
    "HOME": "/root",
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LANG": "C.UTF-8",
    "CI": "true",
    "CASEMATE_TEST_PATIENCE": "10",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONPATH": f"{PROJECT}/src:/srv/data/packages",
}


def tell(**what: object) -> None:
    """One line."""
    print(json.dumps(what), flush=True)


def machine() -> dict[str, str]:
    """What the table is about."""
    mounts = [line.split(" - ") for line in Path("/proc/self/mountinfo").read_text("ascii").splitlines()]
    systemd = subprocess.run(["systemctl", "--version"], capture_output=True, text=True, check=True).stdout
    names = dict(line.split("=", 1) for line in Path("/etc/os-release").read_text("utf-8").splitlines() if "=" in line)
    return {
        "kernel": platform.release(),
        "system": names["PRETTY_NAME"].strip('"'),
        "systemd": systemd.split()[1],
        "cgroup": next(
            f"{right.split()[0]} ({right.split()[2]})" for left, right in mounts if left.split()[4] == "/sys/fs/cgroup"
        ),
        "python": platform.python_version(),
        "cpus": str(os.cpu_count()),
    }


def run(case: Case, place: str) -> Done:
    """Run it in its place; what takes too long is killed with all that it started."""
    argv = list(PLACES[place])
    if argv[0] == "systemd-run" and "--pipe" in argv:
        argv[-1:] = [f"--setenv={name}={value}" for name, value in ENVIRONMENT.items()] + ["--"]
    limit = argv.index("systemd-run") + 1
    argv[limit:limit] = ["-p", f"RuntimeMaxSec={case.timeout:g}"]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            [*argv, *case.argv], stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=ENVIRONMENT, cwd=PROJECT,
            start_new_session=True,
        )  # fmt: skip
        try:
            status = process.wait(case.timeout + 30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            status = process.wait()
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
    return Done(status, *texts)


def main() -> None:
    """All cases, or those of `casemate.only=NAME,…` of the kernel's command line."""
    words = Path("/proc/cmdline").read_text("ascii").split()
    only = next((word.partition("=")[2].split(",") for word in words if word.startswith("casemate.only=")), None)
    tell(machine=machine())
    for case in CASES:
        for place in case.places:
            if only is not None and case.name.replace(" ", "-") not in only:
                continue
            began = time.monotonic()
            done = run(case, place)
            try:
                seen, right = case.check(done), True
            except (AssertionError, ValueError, KeyError) as error:
                seen, right = f"{type(error).__name__}: {error}", False
            output = "" if right else f"{done.out[-8000:]}\n{done.err[-4000:]}"
            took = time.monotonic() - began
            tell(case=case.name, place=place, right=right, seen=seen[:600], seconds=took, output=output)
    tell(end=True)


if __name__ == "__main__":
    main()
