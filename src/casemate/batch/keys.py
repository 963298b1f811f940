"""What a kept result is kept under: a digest of all that it depends on."""

from __future__ import annotations

import functools
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from casemate.control.runs import Request
from casemate.errors import SandboxFault
from casemate.model import Enforcement

PACKAGE = Path(__file__).parents[1]
MAKERS = (
    "batch/results.py", "control", "errors.py", "gate", "guest", "launcher", "model.py", "policy", "profiles",
    "runtime",
)  # fmt: skip
"""What of this package makes results: code and tables. The image, with the libraries, has a digest of its own."""


@functools.cache
def makers() -> str:
    """SHA-256 over the files of MAKERS, names and bytes: the version of what makes results."""
    digest = hashlib.sha256()
    files = [path for name in MAKERS for path in _files(PACKAGE / name)]
    if not files:
        raise SandboxFault(f"no source of casemate in {PACKAGE}")
    for path in files:
        data = path.read_bytes()
        digest.update(f"{path.relative_to(PACKAGE).as_posix()}\n{len(data)}\n".encode())
        digest.update(data)
    return digest.hexdigest()


def _files(path: Path) -> list[Path]:
    found = sorted(path.rglob("*")) if path.is_dir() else [path]
    return [file for file in found if file.suffix in (".py", ".toml") and file.is_file()]


@dataclass(frozen=True, slots=True)
class Terms:
    """Under what a source is run; the digest of a profile covers its limits, also those that a caller lowered."""

    profile_digest: str
    image_digest: str
    degraded: tuple[str, ...]
    """The layers that this host does not have, as the profile permits."""

    @classmethod
    def of_request(cls, request: Request) -> Terms:
        """Of a job that is to be run."""
        profile = request.plan.profile
        return cls(profile.digest, request.image.digest, tuple(request.plan.degraded))

    @classmethod
    def of_result(cls, enforcement: Enforcement) -> Terms:
        """Of a job that was run."""
        return cls(enforcement.profile_digest, enforcement.image_digest, enforcement.degraded)

    def key(self, source: str) -> str:
        """Of the source with this SHA-256."""
        parts = [makers(), self.profile_digest, self.image_digest, list(self.degraded), source]
        return hashlib.sha256(json.dumps(parts).encode("ascii")).hexdigest()
