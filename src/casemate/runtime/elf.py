"""What an image needs to know of ELF files: which loader, and which shared objects the loader would take."""

from __future__ import annotations

import os
import re
import struct
from dataclasses import dataclass
from pathlib import Path

from casemate.errors import SandboxFault
from casemate.runtime.process import run_tool

PT_DYNAMIC, PT_INTERP = 2, 3
ET_DYN = 3
LISTED = re.compile(r"^\t(?P<name>\S+) => (?:(?P<path>/.*) \(0x[0-9a-f]+\)|not found)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Library:
    """A shared object by the name that a file asks for; `path` is None if the loader would not find it."""

    name: str
    path: Path | None


def interpreter_of(path: Path) -> str:
    """The loader that an executable names (PT_INTERP, elf(5))."""
    data = path.read_bytes()
    for kind, offset, size in _segments(data):
        if kind == PT_INTERP:
            return data[offset : offset + size].rstrip(b"\0").decode()
    raise SandboxFault(f"{path.name} names no loader: a statically linked interpreter cannot load extension modules")


def is_shared(path: Path) -> bool:
    """Whether a file is a 64-bit little-endian ELF file that the loader can list."""
    with path.open("rb") as stream:
        if stream.read(4) != b"\x7fELF":
            return False
    return any(kind == PT_DYNAMIC for kind, _, _ in _segments(path.read_bytes()))


def needed_libraries(loader: Path, path: Path, first: Path) -> tuple[Library, ...]:
    """Ask the loader itself, so that rpath, runpath, $ORIGIN, hardware directories and the cache mean what they mean.

    What ldd(1) does: the variable makes the loader map the files, print them and run none of their code. No preload or
    library path of the builder's has a say; libraries in the directory `first` go before the host's.
    """
    environment = {"LD_TRACE_LOADED_OBJECTS": "1", "LD_LIBRARY_PATH": str(first)}
    printed = run_tool([loader, path], env=environment, timeout=30).stdout
    return tuple(
        Library(match["name"], None if match["path"] is None else Path(match["path"]))
        for match in LISTED.finditer(os.fsdecode(printed))
        if not match["name"].startswith("/")
    )


def _segments(data: bytes) -> tuple[tuple[int, int, int], ...]:
    """Type, file offset and size of each program header of a 64-bit little-endian file; none of any other file."""
    if len(data) < 64 or data[:6] != b"\x7fELF\x02\x01":
        return ()
    (table,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    if table + size * count > len(data) or size < 56:
        raise SandboxFault("an ELF file is cut short")
    headers = (struct.unpack_from("<IIQQQQ", data, table + size * i) for i in range(count))
    return tuple((kind, offset, length) for kind, _, offset, _, _, length in headers)
