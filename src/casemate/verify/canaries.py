"""Random words that are put where a sandbox must not get: files, the environment, a descriptor, this process's memory.

Whoever shows one has been there: it cannot be guessed. All begin alike, so that a probe can look for them without
knowing one.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
from dataclasses import dataclass
from pathlib import Path

from casemate.verify import temporary
from casemate.verify.tables.files import CONTROL_SOCKETS, CREDENTIAL_FILES, SET_ID

PREFIX = "casemate-canary-"
DIRECTORIES = ("/tmp", "/var/tmp", "/dev/shm", "/run", "~")
VARIABLE = "CASEMATE_CANARY"


def word() -> str:
    """One canary."""
    return PREFIX + secrets.token_hex(16)


@dataclass(frozen=True, slots=True)
class Place:
    """A directory of ours on the host with a secret that can be read, a file that can be written, and a socket."""

    directory: Path
    secret: str

    @property
    def file(self) -> Path:
        """What must not be read."""
        return self.directory / "secret"

    @property
    def open(self) -> Path:
        """What must not be changed, though its mode lets everybody."""
        return self.directory / "open"

    def changes(self) -> list[str]:
        """What is different from how it was put there."""
        found = []
        names = sorted(os.listdir(self.directory))
        if names != ["open", "secret", "socket"]:
            found.append(f"{self.directory}: holds {names}")
        for path in (self.file, self.open):
            with contextlib.suppress(OSError):
                if path.read_text() != self.secret:
                    found.append(f"{path} was changed")
        return found


class Canaries:
    """All of them, in place until `close()`."""

    def __init__(self) -> None:
        self.environment = os.environ.setdefault(VARIABLE, word())
        self.memory = word()
        self.descriptor = word()
        self.places: list[Place] = []
        self._fd = os.memfd_create("casemate-verify", 0)
        os.write(self._fd, self.descriptor.encode())
        self.inherited = [os.dup(self._fd) for _ in range(8)]
        for fd in self.inherited:
            os.set_inheritable(fd, True)
        self._sockets: list[socket.socket] = []
        self._directories = contextlib.ExitStack()
        for parent in DIRECTORIES:
            with contextlib.suppress(OSError):
                self._plant(Path(parent).expanduser())

    def _plant(self, parent: Path) -> None:
        place = Place(self._directories.enter_context(temporary.directory(parent, 0o777)), word())
        self.places.append(place)
        for path, mode in ((place.file, 0o644), (place.open, 0o666)):
            path.write_text(place.secret)
            path.chmod(mode)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(place.directory / "socket"))
        os.chmod(place.directory / "socket", 0o777)
        listener.listen(8)
        listener.setblocking(False)
        self._sockets.append(listener)

    def called(self) -> list[str]:
        """Sockets that somebody connected to."""
        found = []
        for place, listener in zip(self.places, self._sockets, strict=True):
            with contextlib.suppress(BlockingIOError):
                listener.accept()[0].close()
                found.append(f"somebody connected to {place.directory}/socket")
        return found

    def named(self) -> dict[str, str]:
        """Each canary and where it is."""
        return {
            self.environment: "the caller's environment", self.memory: "the caller's memory",
            self.descriptor: "the caller's descriptors", **{place.secret: str(place.file) for place in self.places},
        }  # fmt: skip

    def shown(self, text: str) -> tuple[str, ...]:
        """Where the canaries come from that are in a text."""
        return tuple(f"the canary of {where} came out" for found, where in self.named().items() if found in text)

    def close(self) -> None:
        """Take them all away."""
        for fd in (*self.inherited, self._fd):
            os.close(fd)
        for listener in self._sockets:
            listener.close()
        self._directories.close()
        os.environ.pop(VARIABLE, None)


def plant_decoys() -> None:
    """Where a host has credentials and sockets of services: in the harness, where those directories are ours."""
    for name in (*CREDENTIAL_FILES, *CONTROL_SOCKETS, SET_ID):
        if name == "/run/casemate":  # the keeper's own, which is there anyway
            continue
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(word())
        path.chmod(0o644)
        for parent in path.parents[:-1]:
            with contextlib.suppress(OSError):
                parent.chmod(0o777)
    Path(SET_ID).chmod(0o4755)
