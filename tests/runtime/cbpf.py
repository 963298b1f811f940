"""Evaluates a seccomp program: the part of classic BPF that seccomp(2) admits, as bpf(4) and filter.h define it."""

from __future__ import annotations

import struct
from collections.abc import Sequence

X86_64, I386, AARCH64 = 0xC000003E, 0x40000003, 0xC00000B7
KILL_PROCESS, KILL_THREAD, ALLOW = 0x80000000, 0, 0x7FFF0000
ERRNO = 0x00050000

_LOAD, _ALU_AND, _JUMP, _RETURN = 0x20, 0x54, 0x05, 0x06
_COMPARE = {
    0x15: lambda a, k: a == k,
    0x25: lambda a, k: a > k,
    0x35: lambda a, k: a >= k,
    0x45: lambda a, k: bool(a & k),
}


def evaluate(program: bytes, arch: int, number: int, arguments: Sequence[int] = ()) -> int:
    """The action for one call; raises KeyError for an instruction that no filter of ours should have."""
    words = [value & (1 << 64) - 1 for value in (*arguments, *[0] * (6 - len(arguments)))]
    data = struct.pack("<iIQ6Q", number - (1 << 32) if number >= 1 << 31 else number, arch, 0, *words)
    code = list(struct.iter_unpack("<HBBI", program))
    at, accumulator = 0, 0
    for _ in range(len(code)):
        op, yes, no, k = code[at]
        if op == _RETURN:
            return int(k)
        if op == _LOAD:
            accumulator = struct.unpack_from("<I", data, k)[0]
        elif op == _ALU_AND:
            accumulator &= k
        elif op == _JUMP:
            at += k
        else:
            at += yes if _COMPARE[op](accumulator, k) else no
        at += 1
    raise AssertionError("the program has no end")
