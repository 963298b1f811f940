"""What goes into a sandbox: bytes in sealed memfds (memfd_create(2)), so that no later writer can change them."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from casemate.errors import Denied

MAX_INPUTS = 100
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_. -]{0,127}")
_SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE


def check_inputs(inputs: Mapping[str, bytes], limit: int) -> None:
    """Refuse names that are not plain file names, and more bytes than the profile lets in."""
    for name, data in inputs.items():
        if not isinstance(data, bytes):
            raise Denied(f"input {name!r}: bytes are needed, not {type(data).__name__}")
        if not _NAME.fullmatch(name) or name == "out":
            raise Denied(f"input {name!r}: a plain file name of letters, digits, '_', '-', '.' and spaces is needed")
    if len(inputs) > MAX_INPUTS:
        raise Denied(f"{len(inputs)} inputs: at most {MAX_INPUTS}")
    total = sum(len(data) for data in inputs.values())
    if total > limit:
        raise Denied(f"inputs of {total} bytes: the profile allows {limit} (upload_bytes)")


@contextmanager
def sealed(*contents: bytes) -> Iterator[tuple[int, ...]]:
    """Read-only, sealed descriptors of the contents, at offset 0; closed at the end."""
    descriptors: list[int] = []
    try:
        for data in contents:
            fd = os.memfd_create("casemate", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
            descriptors.append(fd)
            view = memoryview(data)
            while view:
                view = view[os.write(fd, view) :]
            os.lseek(fd, 0, os.SEEK_SET)
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, _SEALS)
        yield tuple(descriptors)
    finally:
        for fd in descriptors:
            os.close(fd)
