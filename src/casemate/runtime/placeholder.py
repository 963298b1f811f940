"""Placeholders for shared objects that a wheel is linked against and that no job may ever call, like libGL.

OCCT's visualisation is linked against libGL and libX11. A room has no display, a server has neither library, and the
real ones would bring a dozen others into every sandbox. So the image gets an ELF file of the same name that exports
the functions which the wheel's own files ask for; each is one instruction that the processor refuses (SIGILL).
Layout: gABI chapters 4 and 5, elf(5). Two segments, since the loader writes into the dynamic section.
"""

from __future__ import annotations

import platform
import struct
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from casemate.errors import SandboxFault

PAGE = 0x1000
REFUSED = {"x86_64": (62, b"\x0f\x0b"), "aarch64": (183, b"\x00\x00\x00\x00")}
"""e_machine and the instruction: ud2, udf."""

SHT_DYNAMIC, SHT_DYNSYM = 6, 11
DT_NEEDED, DT_HASH, DT_STRTAB, DT_SYMTAB, DT_STRSZ, DT_SYMENT, DT_SONAME = 1, 4, 5, 6, 10, 11, 14
PT_LOAD, PT_DYNAMIC, PT_GNU_STACK = 1, 2, 0x6474E551
READ, WRITE, EXECUTE = 4, 2, 1
GLOBAL_FUNCTION = 0x12


@dataclass(frozen=True, slots=True)
class Links:
    """What a shared object asks for: libraries by name, and symbols that it does not define."""

    needed: frozenset[str]
    undefined: frozenset[str]


def links_of(path: Path) -> Links:
    """Read the dynamic section and symbol table of a 64-bit little-endian shared object by its section headers."""
    data = path.read_bytes()
    (table,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, table + size * i) for i in range(count)]
    needed, undefined = set(), set()
    for _, kind, _, _, offset, length, link, _, _, _ in sections:
        if kind not in (SHT_DYNAMIC, SHT_DYNSYM):
            continue
        strings = sections[link][4]
        entry = "<Qq" if kind == SHT_DYNAMIC else "<IBBHQQ"
        for fields in struct.iter_unpack(entry, data[offset : offset + length - length % struct.calcsize(entry)]):
            if kind == SHT_DYNAMIC and fields[0] == DT_NEEDED:
                needed.add(_string(data, strings + fields[1]))
            elif kind == SHT_DYNSYM and fields[3] == 0 and fields[0]:
                undefined.add(_string(data, strings + fields[0]))
    return Links(frozenset(needed), frozenset(undefined))


def placeholder(soname: str, pattern: str, users: tuple[Path, ...]) -> bytes:
    """An ELF file for the symbols like `pattern` that those of `users` which need `soname` do not define themselves."""
    links = [links for links in map(links_of, users) if soname in links.needed]
    symbols = sorted({name for user in links for name in user.undefined if fnmatchcase(name, pattern)})
    machine = platform.machine()
    if machine not in REFUSED:
        raise SandboxFault(f"no placeholder for {soname} can be made on {machine}: only on {', '.join(REFUSED)}")
    return _shared_object(soname, symbols, *REFUSED[machine])


def _shared_object(soname: str, symbols: list[str], machine: int, instruction: bytes) -> bytes:
    strings = b"\0" + b"".join(name.encode() + b"\0" for name in [soname, *symbols])
    code_at = 64 + 4 * 56
    symbols_at = code_at + 16
    position = 1 + len(soname) + 1
    table = bytes(24)
    for name in symbols:
        table += struct.pack("<IBBHQQ", position, GLOBAL_FUNCTION, 0, 1, code_at, len(instruction))
        position += len(name) + 1
    hash_at = symbols_at + len(table)
    hashes = _hash_table(symbols)
    strings_at = hash_at + len(hashes)
    end = strings_at + len(strings)
    dynamic_at = -(-end // PAGE) * PAGE
    entries = [(DT_SONAME, 1), (DT_HASH, hash_at), (DT_SYMTAB, symbols_at), (DT_STRTAB, strings_at)]
    entries += [(DT_STRSZ, len(strings)), (DT_SYMENT, 24), (0, 0)]
    dynamic = b"".join(struct.pack("<QQ", *entry) for entry in entries)
    header = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    header += struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, 0, 64, 0, 0, 64, 56, 4, 64, 0, 0)
    for kind, flags, offset, length, align in (
        (PT_LOAD, READ | EXECUTE, 0, end, PAGE),
        (PT_LOAD, READ | WRITE, dynamic_at, len(dynamic), PAGE),
        (PT_DYNAMIC, READ | WRITE, dynamic_at, len(dynamic), 8),
        (PT_GNU_STACK, READ | WRITE, 0, 0, 16),
    ):
        header += struct.pack("<IIQQQQQQ", kind, flags, offset, offset, offset, length, length, align)
    read_only = header + instruction.ljust(16, b"\0") + table + hashes + strings
    return read_only.ljust(dynamic_at, b"\0") + dynamic


def _hash_table(symbols: list[str]) -> bytes:
    """The System V hash table, with a bucket for every symbol."""
    count = max(1, len(symbols))
    buckets, chains = [0] * count, [0] * (len(symbols) + 1)
    for index, name in enumerate(symbols, start=1):
        value = 0
        for byte in name.encode():
            value = (value << 4) + byte
            value = (value ^ (value & 0xF0000000) >> 24) & 0x0FFFFFFF
        chains[index], buckets[value % count] = buckets[value % count], index
    return struct.pack(f"<{2 + count + len(chains)}I", count, len(chains), *buckets, *chains)


def _string(data: bytes, offset: int) -> str:
    return data[offset : data.index(b"\0", offset)].decode("utf-8", "surrogateescape")
