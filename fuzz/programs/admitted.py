"""Runs scripts that the gate admitted in real sandboxes, and looks for an effect of any outside; one line of JSON.

Arguments: file with a JSON list of scripts, seconds for each, "walls" or "plain" (no sandbox: to see that effects are
seen).

As root this happens in a mount and a network namespace of its own: every place that a script might know to write to is
an empty tmpfs, and nothing else connects to the listeners. A file in one of the places, a connection, the token of the
environment or of a file in what was delivered, a process that was not there before: each is an effect.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
import uuid
from pathlib import Path

from processes import descendants, wait_until

import casemate
from casemate.control.host import strongest
from casemate.launcher import syscalls

PLACES = ("/tmp", "/var/tmp", "/dev/shm", "/root", "/home", "/mnt", "/srv")
NEEDED = (str(Path(__file__).parents[2]), str(Path(casemate.__file__).parent), sys.prefix, sys.base_prefix)
TOKEN = f"token-{uuid.uuid4().hex}"
SIOCSIFFLAGS, IFF_UP = 0x8914, 1


class Outside:
    """What must not be touched."""

    def __init__(self) -> None:
        self._places: tuple[str, ...] = ()
        if os.geteuid() == 0:
            syscalls.unshare(syscalls.CLONE_NEWNS | syscalls.CLONE_NEWNET)
            syscalls.mount("none", "/", None, syscalls.MS_REC | syscalls.MS_PRIVATE)
            self._places = tuple(place for place in PLACES if os.path.isdir(place))
            # What this program itself needs may lie in one of the places.
            kept = {path: os.open(path, os.O_PATH) for path in NEEDED if path.startswith(PLACES)}
            for place in self._places:
                syscalls.mount("tmpfs", place, "tmpfs", syscalls.MS_NOSUID | syscalls.MS_NODEV)
            for path, fd in kept.items():
                os.makedirs(path, exist_ok=True)
                syscalls.mount(f"/proc/self/fd/{fd}", path, None, syscalls.MS_BIND | syscalls.MS_REC)
                os.close(fd)
            with socket.socket() as plain:
                fcntl.ioctl(plain, SIOCSIFFLAGS, struct.pack("16sh", b"lo", IFF_UP))
        os.environ["CASEMATE_CANARY"] = TOKEN
        self._canary = Path("/tmp") / f"canary-{uuid.uuid4().hex}"
        self._canary.write_text(TOKEN)
        self._listeners = [socket.create_server(("127.0.0.1", 0 if not self._places else 8000))]
        abstract = socket.socket(socket.AF_UNIX)
        abstract.bind(f"\0{TOKEN}")
        abstract.listen()
        self._listeners.append(abstract)
        for listener in self._listeners:
            listener.setblocking(False)
        self._files = self._seen()

    def _seen(self) -> set[str]:
        return {
            os.path.join(folder, name)
            for place in self._places
            for folder, folders, names in os.walk(place)
            if not folder.startswith(NEEDED)
            for name in folders + names
        }

    def touched(self, told: str) -> str:
        """What was, given everything that was delivered."""
        if new := self._seen() - self._files:
            return f"files: {sorted(new)[:5]}"
        if self._canary.read_text() != TOKEN:
            return "the canary was written to"
        if TOKEN in told:
            return "the token was read"
        for listener in self._listeners:
            try:
                listener.accept()
            except BlockingIOError:
                continue
            return "something connected"
        return ""

    def close(self) -> None:
        """Take the canary away."""
        self._canary.unlink()


def plain(script: str) -> str:
    """Without any wall: what it printed."""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    return done.stdout + done.stderr


def sandboxed(host: casemate.Host, script: bytes, seconds: float) -> tuple[str, str]:
    """A word for what became of it, and all that was delivered."""
    result = host.run(script, strongest(host), deadline=casemate.Deadline.after(seconds))
    outcome = result.outcome
    delivered = b"".join(artifact.data for artifact in result.artifacts.values())
    told = repr((outcome, result.warnings)) + result.stdout.text + result.stderr.text + delivered.decode("latin-1")
    return f"{outcome.reason}{f' {outcome.limit}' if outcome.limit else ''}", told


def main() -> None:
    """Run them all, until one is wrong."""
    scripts = [script.encode("latin-1") for script in json.loads(Path(sys.argv[1]).read_text("utf-8"))]
    outside = Outside()
    said: dict[str, int] = {}
    wrong = None
    with casemate.Host(stock=casemate.Stock(size=0)) as host:
        if sys.argv[3] == "walls":
            host.run("x = 1\n", strongest(host))
            keeper = host.keeper_pid
            assert keeper is not None
            before = descendants(keeper)
        for script in scripts:
            if sys.argv[3] == "walls":
                word, told = sandboxed(host, script, float(sys.argv[2]))
                why = outside.touched(told)
                if not why and not wait_until(lambda: descendants(keeper) == before, 5.0):
                    why = f"processes: {sorted(descendants(keeper) ^ before)}"
            else:
                word, why = "plain", outside.touched(plain(script.decode()))
            if why:
                wrong = [script.decode("latin-1"), why]
                break
            said[word] = said.get(word, 0) + 1
    outside.close()
    print(json.dumps({"said": said, "wrong": wrong}))


if __name__ == "__main__":
    main()
