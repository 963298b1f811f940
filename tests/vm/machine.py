"""Boots the virtual machine, waits for what it tells, prints a table; exit status 0 if all was as it must be.

The machine has no network. It writes to no disk of the host but a temporary file, and is killed with this process
(PR_SET_PDEATHSIG, by setpriv(1)) or when it takes too long. Its console is in the cache directory, console.log.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from disks import base, data, project

DEFAULT_STORE = Path("/var/lib/casemate/images")
COMMAND_LINE = "root=/dev/vda rw console=ttyS0 panic=-1 loglevel=4 systemd.show_status=0 random.trust_cpu=on"


def arguments() -> argparse.Namespace:
    """What can be said on the command line."""
    parser = argparse.ArgumentParser(prog="scripts/test-vm", description=__doc__)
    parser.add_argument("--cpus", type=int, default=2)
    parser.add_argument("--memory", type=int, default=6144, help="MiB")
    parser.add_argument("--minutes", type=float, default=240, help="after which the machine is killed")
    parser.add_argument("--only", help="names of cases, with hyphens and separated by commas")
    return parser.parse_args()


def command(wanted: argparse.Namespace, cache: Path, report: Path, tar: Path) -> list[str]:
    """The command that starts the machine."""
    made = base(cache, say)
    line = COMMAND_LINE + (f" casemate.only={wanted.only}" if wanted.only else "")
    disks = [
        f"file={made.disk},if=virtio,format=raw,snapshot=on",
        f"file={data(cache, DEFAULT_STORE, say)},if=virtio,format=raw,readonly=on",
        f"file={project(tar)},if=virtio,format=raw,readonly=on",
    ]
    return [
        "setpriv", "--pdeathsig", "KILL", "nice", "-n", "19",
        "qemu-system-x86_64", "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-nic", "none",
        "-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max",
        "-smp", str(wanted.cpus), "-m", str(wanted.memory),
        "-kernel", str(made.kernel), "-initrd", str(made.initrd), "-append", line,
        *(word for disk in disks for word in ("-drive", disk)),
        "-object", "rng-random,filename=/dev/urandom,id=rng", "-device", "virtio-rng-pci,rng=rng",
        "-serial", f"file:{cache / 'console.log'}", "-serial", f"file:{report}",
    ]  # fmt: skip


def say(text: str) -> None:
    """For whoever waits."""
    print(f"vm: {text}", file=sys.stderr, flush=True)


def lines(report: Path, process: subprocess.Popen[bytes], end: float) -> Iterator[dict[str, Any]]:
    """What the machine tells, as it tells it, until it ends or its time is over."""
    offset = 0
    while True:
        alive = process.poll() is None
        text = report.read_bytes()[offset:] if report.exists() else b""
        whole, newline, _ = text.rpartition(b"\n")
        offset += len(whole) + len(newline)
        for line in whole.splitlines():
            yield json.loads(line)
        if not alive:
            return
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.5)


def boot(wanted: argparse.Namespace, cache: Path) -> tuple[dict[str, str], list[dict[str, Any]], str]:
    """What machine it was, what each case gave, and why it is not all of them ("" if it is)."""
    machine: dict[str, str] = {}
    told: list[dict[str, Any]] = []
    why = f"the machine ended too early: see {cache / 'console.log'}"
    with tempfile.TemporaryDirectory(prefix=".boot-", dir=cache) as temporary:
        report = Path(temporary) / "report"
        argv = command(wanted, cache, report, Path(temporary) / "project.tar")
        say(f"booting under software emulation; the console is {cache / 'console.log'}")
        # qemu keeps what the machine writes to its disk in TMPDIR.
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, env={**os.environ, "TMPDIR": temporary})
        try:
            for line in lines(report, process, time.monotonic() + 60 * wanted.minutes):
                if "machine" in line:
                    machine = line["machine"]
                    say(", ".join(f"{name} {text}" for name, text in machine.items()))
                elif "case" in line:
                    told.append(line)
                    say(row(line))
                    if line["output"]:
                        print(line["output"], file=sys.stderr, flush=True)
                else:
                    why = ""
        except TimeoutError:
            why = f"killed after {wanted.minutes:g} minutes: see {cache / 'console.log'}"
        finally:
            process.kill()
            process.wait()
    return machine, told, why


def row(line: dict[str, Any]) -> str:
    """A case, for people."""
    right = "yes" if line["right"] else "NO"
    return f"{line['place']:24} {line['case']:14} {right:4} {line['seconds']:5.0f} s  {line['seen']}"


def main() -> int:
    """Boot, run, print."""
    wanted = arguments()
    if not (DEFAULT_STORE / "cad").is_symlink():
        raise SystemExit(f"{DEFAULT_STORE} has no image: casemate image build cad")
    if shutil.which("qemu-system-x86_64") is None:
        raise SystemExit("qemu-system-x86_64 is not installed: run scripts/test-vm")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "casemate" / "vm"
    cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    began = time.monotonic()
    machine, told, why = boot(wanted, cache)
    print(f"{time.strftime('%Y-%m-%d', time.gmtime())}, {time.monotonic() - began:.0f} s")
    print(", ".join(f"{name} {text}" for name, text in machine.items()))
    print("\n".join(map(row, told)))
    wrong = [line for line in told if not line["right"]]
    print(why or f"{len(told) - len(wrong)} of {len(told)} as they must be")
    return 1 if why or wrong or not told else 0


if __name__ == "__main__":
    sys.exit(main())
