"""Bytes that are not a plain UTF-8 script."""

from __future__ import annotations

import ast
import importlib
import time
from types import ModuleType

import pytest
from gate.room import CAD, codes

from casemate.gate import Admitted, Denied, check
from casemate.gate.tables import limits

CHECK = importlib.import_module("casemate.gate.check")


def denials(source: bytes) -> list[tuple[str, int, int]]:
    verdict = check(source, CAD)
    return [] if isinstance(verdict, Admitted) else [(d.code, d.line, d.column) for d in verdict.denials]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (b"", []),
        (b"\xef\xbb\xbfx = 1\n", []),
        (b"x = 1\r\ny = 2\r\n", []),
        (b"# -*- coding: utf-8 -*-\nx = 1", []),
        (b"#!/usr/bin/python\n# vim: set fileencoding=UTF8 :\n", []),
        (b"x = 1\n# coding: latin-1 is no cookie on a line after code\n", []),
        ("größe = 1 # µm, ½, ﬁ\nt = 'µ ﬁ ²'\n".encode(), []),
        (b"x = '\t'\n", []),
        (b"x = 1\n\xff\n", [("source.encoding", 2, 0)]),
        (b"\xc3\xa9 = \xc3", [("source.encoding", 1, 4)]),
        (b"\xed\xa0\x80", [("source.encoding", 1, 0)]),
        (b"\xff\xfex\x00", [("source.encoding", 1, 0)]),
        (b"x = 1\0", [("source.nul", 1, 5)]),
        (b"# coding: latin-1\n", [("source.cookie", 1, 10)]),
        (b"\n# coding=utf-7\n", [("source.cookie", 2, 9)]),
        (b"\xef\xbb\xbf# coding: cp1252", [("source.cookie", 1, 10)]),
        (b"x = 1 #\rprint(1)\n", [("source.carriage_return", 1, 7)]),
        (b"x = 1\ry = 2", [("source.carriage_return", 1, 5)]),
        (b"x = 1\x0c\n", [("source.control", 1, 5)]),
        (b"x = '\x1b[2J'", [("source.control", 1, 5)]),
        ("x = 1 # \u2028 y".encode(), [("source.control", 1, 8)]),
        ("x = '\u202e'".encode(), [("source.bidi", 1, 5)]),
        ("# \u2066\n".encode(), [("source.bidi", 1, 2)]),
        ("\n\u200fx = 1".encode(), [("source.bidi", 2, 0)]),
        ("ﬁx = 1".encode(), [("name.nfkc", 1, 0)]),
        ("é = 1; ªb = 2".encode(), [("name.nfkc", 1, 7)]),
    ],
)
def test_decoding(source: bytes, expected: list[tuple[str, int, int]]) -> None:
    assert denials(source) == expected


@pytest.mark.parametrize(
    ("source", "code"),
    [
        (b"#" * (limits.SOURCE_BYTES + 1), "limit.source"),
        (b"x = (", "source.syntax"),
        (b"x = 1 +", "source.syntax"),
        (b"return 1", "source.syntax"),
        (b"break", "source.syntax"),
        (b"def f(a, a): pass", "source.syntax"),
        (b"if 1:\nx = 1", "source.syntax"),
        (b"x = '\\N{nothing}'", "source.syntax"),
        (b"True = 1", "source.syntax"),
        (b"-" * 200_000 + b"1", "limit.depth"),
        (b"(" * 10_000 + b")" * 10_000, "limit.depth"),
        (b"[" * 150 + b"]" * 150, "limit.depth"),
        (b"x = a" + b".b" * 100_000, "limit.depth"),
        (b"x = a" + b".b" * 250, "limit.depth"),
        (b"x = a" + b"+a" * 100_000, "limit.depth"),
        (b"lambda:" * 30_000 + b"1", "limit.depth"),
        (b"".join(b" " * n + b"if 1:\n" for n in range(150)) + b" " * 150 + b"x = 1", "limit.depth"),
        (b"x = 1\n" * 9_000, "limit.nodes"),
        (b"x = " + b"9" * 5_000, "limit.integer"),
        (b"x = 0x" + b"f" * 100, "limit.integer"),
        (b"x = 10 ** 10 ** 8", "limit.exponent"),
        (b"x = 2 ** -2000", "limit.exponent"),
        (b"x = 1 << 10 ** 9", "limit.exponent"),
        (b"x = pow(10, 10 ** 8)", "limit.exponent"),
        (b"x = 10 ** 1000 * 10 ** 1000 * 10 ** 1000", "limit.integer"),
        (b"x = 'a' * 10 ** 9", "limit.repeat"),
        (b"x = 10_000_000 * [0]", "limit.repeat"),
        (b"x = (1, 2) * 600_000", "limit.repeat"),
        (b"x = '" + b"a" * 70_000 + b"'", "limit.string"),
        (b"x = f'{1:9999999}'", "limit.format"),
        (b"x = '%9999999d' % 1", "limit.format"),
    ],
)
def test_sizes_and_syntax(source: bytes, code: str) -> None:
    started = time.process_time()
    verdict = check(source, CAD)
    assert time.process_time() - started < 2
    assert codes(verdict) == [code]


@pytest.mark.parametrize(
    "source",
    [
        b"x = [" * 90 + b"]" * 90,
        b"import cadquery as cq\nx = cq.Workplane()" + b".box(1, 1, 1)" * 85,
        b"x = 2 ** 1000\ny = 1.5 ** 3000\nz = 1 << 20\n",
        b"x = 1\n" * 5_000,
        b"x = 'a' * 1000 + '=' * 80\n",
        b"x = f'{1:>120.3f}' '%10.2f' % 2\n",
    ],
)
def test_honest_sizes(source: bytes) -> None:
    assert codes(check(source.replace(b"x = [" * 90, b"x = " + b"[" * 90), CAD)) == []


def test_a_syntax_error_names_its_place() -> None:
    verdict = check("a = 1\nbé = (2 +\n".encode(), CAD)
    assert isinstance(verdict, Denied)
    (denial,) = verdict.denials
    assert (denial.code, denial.line, denial.source_line) == ("source.syntax", 2, "bé = (2 +")


def test_columns_count_characters() -> None:
    verdict = check("é = 'ü'; open('x')".encode(), CAD)
    assert isinstance(verdict, Denied)
    assert [(d.code, d.line, d.column) for d in verdict.denials] == [("name.builtin", 1, 9)]


def test_an_attribute_is_told_at_its_own_line() -> None:
    source = "import cadquery as cq\nr = (\n    cq.Workplane()\n    .box(1, 2, 3)\n    .filet(2)\n)\n"
    verdict = check(source.encode(), CAD)
    assert isinstance(verdict, Denied)
    (denial,) = verdict.denials
    assert (denial.line, denial.column, denial.name) == (5, 5, "filet")
    assert denial.source_line == "    .filet(2)"
    assert denial.hint == "did you mean fillet?"


def test_what_a_denial_quotes_is_short_and_visible() -> None:
    long = "x" * 10_000
    verdict = check(f"{long} = '\x1b' # {long}\n".encode(), CAD)
    assert isinstance(verdict, Denied)
    for denial in verdict.denials:
        assert len(denial.source_line) <= limits.SOURCE_LINE
        assert denial.source_line.isprintable()
    verdict = check(f"{long}_unknown\nimport {long}\n".encode(), CAD)
    assert isinstance(verdict, Denied)
    for denial in verdict.denials:
        assert len(denial.name) <= limits.NAME
        assert len(denial.message) <= 6 * limits.MESSAGE


def test_all_denials_come_at_once_and_are_cut_with_a_count() -> None:
    verdict = check(b"import os\nopen('x')\nx.qq\nos.system('y')\n", CAD)
    assert codes(verdict) == ["import.module", "name.builtin", "name.unknown", "attribute.unknown"]
    many = check(b"open('x')\n" * 450, CAD)
    assert isinstance(many, Denied)
    assert len(many.denials) == limits.DENIALS + 1
    assert many.denials[-1].code == "omitted"
    assert many.denials[-1].name == str(450 - limits.DENIALS)
    very_many = check(b"open('x')\n" * 4_500, CAD)
    assert isinstance(very_many, Denied)
    assert very_many.denials[-1].name == str(4_500 - limits.DENIALS)


def test_nothing_is_printed_and_no_warning_is_raised(capfd: pytest.CaptureFixture[str]) -> None:
    assert codes(check(b"x = '\\d'\ny = x is 3\nassert (x, 'y')\n", CAD)) == []
    assert capfd.readouterr() == ("", "")


def test_a_deep_caller_gets_an_answer() -> None:
    def deeper(levels: int) -> Admitted | Denied:
        return deeper(levels - 1) if levels else check(b"x = [" + b"[" * 80 + b"]" * 80 + b"]", CAD)

    assert isinstance(deeper(600), Admitted | Denied)


@pytest.mark.parametrize(
    "source",
    [
        b"a%d\n" * 9_000,
        b"id\n" * 4_000 + b"id = 1\n" * 3_000,
        b"d = {}\n" + b"f(**d)\n" * 3_000,
        b"class A:\n pass\n" + b"x = A()\n" * 2_000 + b"x.q = 1\n" * 2_000,
        b'"\xc3\xa9";' + b"zz;" * 9_000,
        b"#" + b"coding:" * 30_000,
        "ﬁ ".encode() * 60_000,
        b"import os\n" * 8_000,
        b'"""' * 80_000,
        b"x = y" + b" if y else y" * 6_000,
        bytes(range(256)) * 1_000,
    ],
)
def test_time_is_linear_in_the_source(source: bytes) -> None:
    started = time.process_time()
    check(source, CAD)
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("where", "name", "error", "code"),
    [
        (CHECK, "_tree", RecursionError(), "limit.depth"),
        (CHECK, "_tree", MemoryError(), "limit.depth"),
        (ast, "parse", RecursionError(), "limit.depth"),
        (ast, "parse", MemoryError(), "limit.depth"),
        (ast, "parse", ValueError("bad"), "source.syntax"),
        (ast, "parse", OverflowError("bad"), "source.syntax"),
        (CHECK, "compile", ValueError("bad"), "source.syntax"),
        (CHECK, "compile", TypeError("bad"), "source.syntax"),
        (CHECK, "compile", SystemError("bad"), "source.syntax"),
    ],
)
def test_what_breaks_the_parser_or_the_compiler_is_denied(
    where: ModuleType, name: str, error: Exception, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(where, name, broken, raising=False)  # a module has `compile` from the builtins
        verdict = check(b"result = 1\n", CAD)
    assert isinstance(verdict, Denied)
    assert [(denial.code, denial.line) for denial in verdict.denials] == [(code, 0)]
