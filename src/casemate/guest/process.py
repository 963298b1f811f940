"""What every job's process does with its source, its generators and its streams."""

from __future__ import annotations

import os
import random
import sys

MAX_SOURCE = 256 * 1024


def read_source() -> bytes:
    """The source to its end or one byte past the bound, so that the gate sees that it is too long."""
    chunks: list[bytes] = []
    size = 0
    while size <= MAX_SOURCE:
        chunk = os.read(0, MAX_SOURCE + 1 - size)
        if not chunk:
            break
        chunks.append(chunk)
        size += len(chunk)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    return b"".join(chunks)


def reseed() -> None:
    """Forks of one template would all draw the same numbers."""
    random.seed(os.urandom(32))
    numpy = sys.modules.get("numpy.random")
    if numpy is not None:
        numpy.seed(int.from_bytes(os.urandom(4), "big"))


def prepare_streams() -> None:
    """UTF-8, and by lines, so that a crash in native code does not take the last prints with it.

    Made anew: the template's were made for /dev/null, which can seek, and cannot be told that a pipe cannot.
    """
    for descriptor, name in ((1, "stdout"), (2, "stderr")):
        stream = open(descriptor, "w", 1, "utf-8", "backslashreplace", closefd=False)  # noqa: SIM115
        stream.buffer.raw.name = f"<{name}>"  # type: ignore[attr-defined]
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def complain(text: str) -> None:
    """To the job's stderr, whatever the script made of `sys.stderr`."""
    data = text.encode("utf-8", "backslashreplace")
    try:
        while data:
            data = data[os.write(2, data) :]
    except OSError:
        return
