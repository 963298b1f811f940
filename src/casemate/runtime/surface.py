"""System calls by number, as libseccomp knows them for this machine, for those who look at a loaded filter."""

from __future__ import annotations

import base64
import errno
import functools
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import pyseccomp

from casemate.runtime import seccomp

KILL, ERRNO, ALLOW = "kill", "errno", "allow"
_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7, "i386": 0x40000003}
_LOAD, _RETURN, _AND, _JUMP = 0x20, 0x06, 0x54, 0x05
_COMPARE: dict[int, Callable[[int, int], bool]] = {
    0x15: lambda a, k: a == k,
    0x25: lambda a, k: a > k,
    0x35: lambda a, k: a >= k,
    0x45: lambda a, k: bool(a & k),
}


_NEWER = {"statmount": 457, "listmount": 458}
"""Calls that a libseccomp in use does not know yet; since 424 a call has one number everywhere (syscall.tbl)."""


def numbers(names: Iterable[str]) -> dict[str, int | None]:
    """The number of each call on this machine, None where it has none."""
    found: dict[str, int | None] = {}
    for name in names:
        try:
            number = int(pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, name))
        except ValueError:
            number = -1
        found[name] = number if number >= 0 else _NEWER.get(name)
    return found


@dataclass(frozen=True, slots=True)
class Surface:
    """A system call set as a profile uses it: with sockets of AF_UNIX, with TCP ones, with terminals, or without."""

    name: str
    unix: bool
    inet: bool
    pty: bool = False

    @property
    def program(self) -> bytes:
        """The BPF program, as it is given to the kernel."""
        return _program(self)

    @property
    def calls(self) -> frozenset[str]:
        """The calls that some arguments get through."""
        return _calls(self)

    @property
    def numbers(self) -> frozenset[int]:
        """Their numbers."""
        return frozenset(number for number in numbers(self.calls).values() if number is not None)

    def refusals(self, names: Iterable[str], machine: str) -> dict[str, int]:
        """For each call that is refused whatever its arguments are, the errno that it is answered with."""
        code, calls, found = [self.program], self.calls, {}
        for call, number in numbers(names).items():
            if number is not None and call not in calls:
                kind, value = answer(code, machine, number)
                found[call] = value if kind == ERRNO else errno.EPERM
        return found


@functools.cache
def _program(of: Surface) -> bytes:
    return base64.b64decode(seccomp.compiled(of.name, unix=of.unix, inet=of.inet, pty=of.pty), validate=True)


@functools.cache
def _calls(of: Surface) -> frozenset[str]:
    wanted = seccomp.load(of.name)
    return frozenset(call for call in wanted.calls if wanted.rule(call, unix=of.unix, inet=of.inet, pty=of.pty) != ())


def answer(programs: Iterable[bytes], machine: str, number: int, arguments: tuple[int, ...] = ()) -> tuple[str, int]:
    """What filters say to a call: (KILL, 0), (ERRNO, code) or (ALLOW, 0); the strictest counts (seccomp(2)).

    Raises ValueError for an instruction that libseccomp does not write.
    """
    words = [argument & 0xFFFFFFFFFFFFFFFF for argument in (*arguments, 0, 0, 0, 0, 0, 0)[:6]]
    data = struct.pack("=IIQ6Q", number, _AUDIT[machine], 0, *words)
    # Actions as the kernel orders them: the numerically least one as a signed number wins.
    actions = [_evaluate(code, data) for code in programs]
    if not actions:
        return ALLOW, 0
    least = min(actions, key=lambda action: action - (1 << 32) if action & 0x80000000 else action)
    kind = least & 0xFFFF0000
    if kind == 0x7FFF0000:
        return ALLOW, 0
    if kind == 0x00050000:
        return ERRNO, least & 0xFFFF
    if kind in (0x00000000, 0x80000000):
        return KILL, 0
    raise ValueError(f"a filter answers {least:#x}")


@functools.cache
def _instructions(code: bytes) -> tuple[tuple[int, int, int, int], ...]:
    """Operation, jump if true, jump if false, constant."""
    return tuple(struct.iter_unpack("=HBBI", code))


def _evaluate(code: bytes, data: bytes) -> int:
    """Classic BPF as libseccomp writes it (bpf(4), seccomp_export_bpf(3))."""
    instructions = _instructions(code)
    value = at = 0
    while True:
        operation, true, false, constant = instructions[at]
        at += 1
        if operation == _LOAD:
            value = struct.unpack_from("=I", data, constant)[0]
        elif operation == _AND:
            value &= constant
        elif operation == _JUMP:
            at += constant
        elif operation in _COMPARE:
            at += true if _COMPARE[operation](value, constant) else false
        elif operation == _RETURN:
            return int(constant)
        else:
            raise ValueError(f"instruction {operation:#x}")
