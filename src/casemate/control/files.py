"""Files that a caller gets: whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

UNFINISHED = ".casemate-"
"""How the name of a file begins that is being written: a process that was killed leaves it."""


def write_file(target: Path, data: bytes) -> None:
    """Write a file by rename(2), readable by all; a link in its place is replaced, not followed. Raises OSError."""
    fd, temporary = tempfile.mkstemp(dir=target.parent, prefix=UNFINISHED)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise
