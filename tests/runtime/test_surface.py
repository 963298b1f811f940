"""Filters read as the kernel would, on programs written by hand and on the sets as they are compiled."""

from __future__ import annotations

import errno
import struct

import pytest

from casemate.runtime import seccomp, surface

ALLOW, EPERM, KILL = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x80000000
X86 = 0xC000003E
CAD = surface.Surface("cad", unix=False, inet=False)


def program(*rows: tuple[int, int, int, int]) -> bytes:
    return b"".join(struct.pack("=HBBI", *row) for row in rows)


# Another architecture is killed; 39 is allowed; 40 is, if the low half of its first argument is 5; else EPERM.
BY_HAND = program(
    (0x20, 0, 0, 4), (0x15, 1, 0, X86), (0x06, 0, 0, KILL), (0x20, 0, 0, 0), (0x15, 0, 1, 39), (0x06, 0, 0, ALLOW),
    (0x15, 0, 3, 40), (0x20, 0, 0, 16), (0x15, 0, 1, 5), (0x06, 0, 0, ALLOW), (0x06, 0, 0, EPERM),
)  # fmt: skip


@pytest.mark.parametrize(
    ("machine", "number", "arguments", "said"),
    [
        ("x86_64", 39, (), (surface.ALLOW, 0)),
        ("x86_64", 41, (), (surface.ERRNO, errno.EPERM)),
        ("x86_64", 40, (5,), (surface.ALLOW, 0)),
        ("x86_64", 40, (6,), (surface.ERRNO, errno.EPERM)),
        ("x86_64", 40, (0x100000005,), (surface.ALLOW, 0)),
        ("x86_64", 40, (-1,), (surface.ERRNO, errno.EPERM)),
        ("i386", 39, (), (surface.KILL, 0)),
    ],
)
def test_a_program_by_hand(machine: str, number: int, arguments: tuple[int, ...], said: tuple[str, int]) -> None:
    assert surface.answer([BY_HAND], machine, number, arguments) == said


def test_of_several_filters_the_strictest_counts() -> None:
    loose, strict = program((0x06, 0, 0, ALLOW)), program((0x06, 0, 0, KILL))
    assert surface.answer([loose, BY_HAND], "x86_64", 41) == (surface.ERRNO, errno.EPERM)
    assert surface.answer([BY_HAND, strict], "x86_64", 39) == (surface.KILL, 0)
    assert surface.answer([], "x86_64", 39) == (surface.ALLOW, 0)


def test_an_instruction_or_an_action_that_is_not_known_is_no_answer() -> None:
    with pytest.raises(ValueError, match="instruction 0x7"):
        surface.answer([program((0x07, 0, 0, 0))], "x86_64", 1)
    with pytest.raises(ValueError, match="a filter answers 0x7fc00000"):
        surface.answer([program((0x06, 0, 0, 0x7FC00000))], "x86_64", 1)


@pytest.mark.skipif(surface.numbers(["getpid"])["getpid"] != 39, reason="numbers of x86-64")
def test_the_cad_set_as_it_is_compiled() -> None:
    code = [CAD.program]
    # read, mount, ptrace, socket, clone3, by their numbers in <asm/unistd_64.h>.
    told = [surface.answer(code, "x86_64", number) for number in (0, 165, 101, 41, 435)]
    assert told == [
        (surface.ALLOW, 0), (surface.ERRNO, errno.EPERM), (surface.ERRNO, errno.EPERM),
        (surface.ERRNO, errno.EAFNOSUPPORT), (surface.ERRNO, errno.ENOSYS),
    ]  # fmt: skip
    assert surface.answer(code, "x86_64", 0x40000000)[0] == surface.KILL
    assert surface.answer(code, "i386", 3)[0] == surface.KILL
    assert surface.answer(code, "x86_64", 16, (0, 0x5412)) == (surface.ERRNO, errno.EPERM)  # TIOCSTI
    assert surface.answer(code, "x86_64", 16, (0, 0x5401)) == (surface.ALLOW, 0)  # TCGETS


def test_refusals_and_numbers() -> None:
    assert CAD.refusals(["mount", "socket", "clone3", "read"], "x86_64") == {
        "mount": errno.EPERM, "socket": errno.EAFNOSUPPORT, "clone3": errno.ENOSYS,
    }  # fmt: skip
    assert surface.numbers(["no such call"]) == {"no such call": None}
    assert len(CAD.numbers) == len(seccomp.load("cad").calls)


def test_sockets_are_of_a_surface_only_where_a_profile_has_some() -> None:
    none, local = (surface.Surface("python", unix=unix, inet=False) for unix in (False, True))
    assert local.calls - none.calls == {"socket"}
    assert none.refusals(["socket"], "x86_64") == {"socket": errno.EAFNOSUPPORT}
    assert local.refusals(["socket"], "x86_64") == {}
