"""Each rule, with what it must refuse and what it must leave alone."""

from __future__ import annotations

import pytest
from gate.room import codes, judge

from casemate.gate import Denied

CQ = "import cadquery as cq\n"
BD = "from build123d import *\n"

REFUSED: list[tuple[str, str]] = [
    # names
    ("name.dunder", "__name__"),
    ("name.dunder", "x = __builtins__"),
    ("name.dunder", "print(__file__)"),
    ("name.dunder", "__casemate_import__('os')"),
    ("name.dunder", "if __name__ == 'other':\n    pass"),
    ("name.dunder", "def f(__x):\n    pass"),
    ("name.dunder", "def __f():\n    pass"),
    ("name.dunder", "f = lambda __x: 1"),
    ("name.dunder", "x = [__x for __x in []]"),
    ("name.dunder", "for __import__ in [1]:\n    pass"),
    ("name.dunder", "try:\n    pass\nexcept Exception as __x:\n    pass"),
    ("name.dunder", "import math as __builtins__"),
    ("name.dunder", "print(__x=1)"),
    ("name.dunder", "print(**{'__x': 1})"),
    ("name.dunder", "class __A:\n    pass"),
    ("name.dunder", "class A:\n    __eq__ = print"),
    ("name.dunder", "class A:\n    def __getattr__(self, n):\n        return 1"),
    ("name.dunder", "class A:\n    [0 for __hash__ in [1]]"),
    ("name.dunder", "class A:\n    x = __module__"),
    ("name.dunder", "class A:\n    def f(self):\n        return __class__"),
    ("name.dunder", "x: __import__ = 1"),
    ("name.private", "print(_x)"),
    ("name.private", "print(_x=1)"),
    ("name.builtin", "x = exec"),
    ("name.builtin", "exec = 1"),
    ("name.builtin", "def open():\n    pass"),
    ("name.builtin", "def f(eval):\n    pass"),
    ("name.builtin", "import math as exec"),
    ("name.builtin", "type(1)"),
    ("name.builtin", "type(1)\ntype = 1"),
    ("name.builtin", "def f():\n    return type\ntype = f()"),
    ("name.builtin", "if 0:\n    type = 1\nprint(type)"),
    ("name.builtin", "for type in []:\n    pass\nprint(type)"),
    ("name.builtin", "class A:\n    type = type"),
    ("name.builtin", "id = 1\ntry:\n    pass\nexcept Exception as id:\n    pass\nprint(id)"),
    ("name.builtin", "def f():\n    type = 1\nprint(type)"),
    ("name.builtin", "x = [type for y in [1]]"),
    ("name.builtin", "x = getattr(1, 'real')"),
    ("name.builtin", "super = 1"),
    ("name.builtin", "x = lambda: vars"),
    ("name.builtin", "try:\n    pass\nexcept BaseException:\n    pass"),
    ("name.builtin", "if 'x' in globals():\n    pass"),
    ("name.import", "import math\nmath = 1"),
    ("name.import", "import math\ndef f(math):\n    pass"),
    ("name.import", "import math as m\nimport random as m"),
    ("name.unknown", "print(undefined)"),
    ("name.unknown", "from ocp_vscode import *\nfillet_all(1)"),
    ("name.unknown", "def f():\n    x = 1\nprint(x)"),
    # imports
    ("import.module", "import os"),
    *(
        ("import.module", f"import {name}")
        for name in (
            "subprocess",
            "importlib",
            "pickle",
            "socket",
            "io",
            "ctypes",
            "shutil",
            "pathlib",
            "tempfile",
            "threading",
            "multiprocessing",
            "asyncio",
            "builtins",
            "inspect",
            "gc",
            "marshal",
            "signal",
            "mmap",
            "code",
            "runpy",
        )
    ),
    ("import.module", "import math, os"),
    ("import.module", "import os.path as math"),
    ("import.module", "from os import path"),
    ("import.module", "from os import *"),
    ("import.module", "import numpy.lib"),
    ("import.module", "import cadquery.occ_impl.shapes"),
    ("import.module", "from build123d.topology import Shape"),
    ("import.name", "from cadquery import os"),
    ("import.name", "from numpy import load"),
    ("import.name", "from cadquery.selectors import pyparsing_common"),
    ("import.name", "from random import _os"),
    ("import.name", "from math import __loader__"),
    ("import.name", "from cadquery.func import setThreads"),
    ("import.star", "from cadquery import *"),
    ("import.star", "from numpy import *"),
    ("import.star", "def f():\n    from math import *"),
    ("import.relative", "from . import x"),
    ("import.relative", "from ..math import sin"),
    ("import.use", "import math\nx = math"),
    ("import.use", "import math\nx = [math][0]"),
    ("import.use", "import numpy as np\nx = np.linalg"),
    ("import.use", "import math\nprint(math)"),
    ("import.erased", "import typing\nprint(typing)"),
    ("import.erased", "from typing import sys\nx = [sys.modules]"),
    # attributes
    ("attribute.module", CQ + "cq.exporters.os"),
    ("attribute.module", CQ + "cq.occ_impl.shapes"),
    ("attribute.module", CQ + "cq.nothing"),
    ("attribute.module", "import random\nrandom._os"),
    ("attribute.module", "import random\nrandom.SystemRandom()"),
    ("attribute.module", "import copy\ncopy.copyreg"),
    ("attribute.module", "import functools\nfunctools.wraps"),
    ("attribute.module", "import time\ntime.sleep(5)"),
    ("attribute.module", "class A:\n    os = 1\n" + CQ + "cq.os"),
    ("attribute.module", "import numpy as np\nnp.vectorize(print)"),
    ("attribute.dunder", "print(().__class__)"),
    ("attribute.dunder", "print(f'{().__class__}')"),
    ("attribute.dunder", "print(f'{1:{().__class__}}')"),
    ("attribute.dunder", "f = lambda x=().__class__: 1"),
    ("attribute.dunder", CQ + "cq.Workplane.__init__"),
    ("attribute.dunder", CQ + "cq.Workplane.__init__(1)"),
    ("attribute.dunder", "class A:\n    def f(self):\n        self.__class__ = int"),
    ("attribute.dunder", "class A:\n    def f(self):\n        return super().__getattribute__"),
    ("attribute.dunder", "class A:\n    def f(self):\n        return super().__init__"),
    ("attribute.dunder", "class A:\n    pass\nA.__own_class__ = 1"),
    ("attribute.dunder", "class A:\n    def f(self):\n        pass\nA.f.__globals__"),
    ("attribute.private", "x = 1\nx._private"),
    ("attribute.denied", "x = 1\nx.wrapped"),
    ("attribute.denied", "x = 1\nx.gi_frame"),
    ("attribute.denied", "x = 1\nx.mro()"),
    ("attribute.denied", "class A:\n    def tofile(self):\n        pass\nx = 1\nx.tofile('a')"),
    ("attribute.denied", "class A:\n    def f(self):\n        return super().mro()"),
    ("attribute.denied", "x = 'a'\nx.format_map({})"),
    ("attribute.denied", "x = map('{0.real}'.format, [1])"),
    ("attribute.unknown", "x = 1\nx.savefig('a')"),
    # stores
    ("store.imported", CQ + "cq.Workplane.box = 1"),
    ("store.imported", CQ + "cq.Workplane.label = 1"),
    ("store.imported", CQ + "cq.x: int = 1"),
    ("store.imported", CQ + "cq.Workplane.box += 1"),
    ("store.imported", "from cadquery import Workplane as W\nfor W.box in [1]:\n    pass"),
    ("store.imported", "import math\nx = [0 for math.sin in [print]]"),
    ("store.imported", "import math\n(math.pi, *math.e) = (1, 2)"),
    ("store.imported", BD + "Box.color = 1"),
    ("store.imported", BD + "with BuildPart() as Box.color:\n    pass"),
    ("store.imported", BD + "UNITS_PER_METER['a'] = 1"),
    ("store.attribute", CQ + "W = cq.Workplane\nW.box = 1"),
    ("store.attribute", "def f(x):\n    x.anything = 1"),
    ("store.attribute", "def f():\n    pass\nf.count = 1"),
    ("store.attribute", "class A:\n    def f(self):\n        self = [1]\n        self.box = 1"),
    ("store.attribute", "class A:\n    def f(self):\n        pass\na = A()\na = 1\na.box = 1"),
    # nodes
    ("node.Global", "def f():\n    global x"),
    ("node.Nonlocal", "def f():\n    x = 1\n    def g():\n        nonlocal x"),
    ("node.Delete", "x = 1\ndel x"),
    ("node.AsyncFunctionDef", "async def f():\n    pass"),
    ("node.AsyncFor", "async def f():\n    async for x in y:\n        pass"),
    ("node.Await", "async def f():\n    await x"),
    ("node.Yield", "def f():\n    yield 1"),
    ("node.Yield", "f = lambda: (yield)"),
    ("node.YieldFrom", "def f():\n    yield from [1]"),
    ("node.NamedExpr", "x = (y := 1)"),
    ("node.Match", "match 1:\n    case str():\n        pass"),
    ("node.TryStar", "try:\n    pass\nexcept* ValueError:\n    pass"),
    ("node.decorator", "@print\ndef f():\n    pass"),
    ("node.decorator", "@print\nclass A:\n    pass"),
    ("node.decorator", "class A:\n    @property\n    def f(self):\n        pass"),
    ("node.Constant", "x = b'a'"),
    ("node.Constant", "x = 1j"),
    ("node.Constant", "x = ..."),
    ("node.annotation", "x: print('a') = 1"),
    ("node.annotation", "x: print('a')"),
    ("node.annotation", "def f(x: (lambda: 1) = 1):\n    pass"),
    ("node.annotation", "def f() -> [x for x in y]:\n    pass"),
    # classes
    ("class.base", "class A(int):\n    pass"),
    ("class.base", CQ + "class A(cq.Workplane):\n    pass"),
    ("class.base", "class A:\n    pass\nA = int\nclass B(A):\n    pass"),
    ("class.base", "class A(print('a')):\n    pass"),
    ("class.keyword", "class A(metaclass=print):\n    pass"),
    ("class.keyword", "class A(**{'metaclass': print}):\n    pass"),
    # calls
    ("call.callee", "(lambda: 1)()"),
    ("call.callee", "def f():\n    return f\nf()()"),
    ("call.callee", "[print][0](1)"),
    ("call.unpack", "d = dict(a=1)\nprint(**d)"),
    ("call.unpack", "d = {'sep': 1}\nd['file'] = 2\nprint(**d)"),
    ("call.unpack", "d = {'sep': 1}\nd.update(file=1)\nprint(**d)"),
    ("call.unpack", "d = {'sep': 1}\ne = d\nprint(**d)"),
    ("call.unpack", "print(**{'a' + 'b': 1})"),
    ("call.unpack", "print(**{**{'sep': 1}})"),
    ("call.print", "print(1, file=2)"),
    ("call.print", "print(**{'file': 1})"),
    ("call.font", CQ + "cq.Workplane().text('a', 1, 1, fontPath='/x')"),
    ("call.font", CQ + "cq.Workplane().text('a', 1, 1, **{'fontPath': '/x'})"),
    ("call.font", CQ + "cq.Workplane().text('a', 1, 1, 'cut', True, 'Arial', '/x')"),
    ("call.font", CQ + "a = ['a']\ncq.Workplane().text(*a)"),
    ("call.font", CQ + "cq.Compound.makeText('a', 1, 1, 'Arial', '/x')"),
    ("call.font", BD + "Text('a', 5, 'Arial', '/x')"),
    ("call.font", BD + "Text('a', 5, font_path='/x')"),
    ("call.font", "from cadquery.func import *\ntext('a', 5, 'Arial', '/x')"),
    ("call.font", "from cadquery.func import text\ntext('a', 5, path='/x')"),
    ("call.font", "import cadquery.func as f\nf.text('a', 5, 'Arial', '/x')"),
    ("call.super", "super"),
    ("call.super", "def f(s):\n    return super().x"),
    ("call.super", "class A:\n    def f(self):\n        return super(A, self)"),
    ("call.super", "class A:\n    def f(self):\n        return super()"),
    # with and except
    ("with.item", "with print(1):\n    pass"),
    ("with.item", BD + "with Box(1, 1, 1):\n    pass"),
    ("except.type", "try:\n    pass\nexcept print(1):\n    pass"),
    ("except.type", "x = Exception\ntry:\n    pass\nexcept x:\n    pass"),
    ("except.type", "Exception = ValueError\ntry:\n    pass\nexcept Exception:\n    pass"),
]

LEFT_ALONE: list[str] = [
    "_ = [0 for _ in range(3)]\n_x = 1\nprint(_x)",
    "def f(_x=1):\n    return _x\nf(_x=2)",
    "id = 12\nprint(id, f'{id}')",
    "def f(type, input):\n    return type + input\nf(1, 2)",
    "type = 1\ndef f():\n    return type\nf()",
    "for i in range(3):\n    type = i\n    if type:\n        print(type)",
    "max = 3\nlen = [max]\nprint(len)",
    "x = [id for id in range(3)]",
    "import math\nimport math\nprint(math.pi)",
    "def f():\n    import math\n    return math.sin(1)",
    "import numpy as np\nx = np.linalg.norm(np.array([1, 2]))",
    "x = 1\nx = x.real if isinstance(x, int) else repr(x)",
    "print(*[1, 2], sep=', ', end='', flush=True)",
    "class A:\n    pass\na = A()\na.anything = 1\nprint(a.anything)",
    "class A:\n    def __init__(self, **kw):\n        self.kw = kw\nclass B(A):\n    def __init__(self):\n"
    "        super().__init__(a=1)\n        A.__init__(self, b=2)",
    "class E(ValueError):\n    pass\ntry:\n    raise E('x')\nexcept (E, KeyError) as e:\n    print(e, e.args)",
    "raise SystemExit(1)",
    "exit()",
    "try:\n    x = 1\nexcept Exception as e:\n    raise KeyError('no') from e\nelse:\n    x = 2\nfinally:\n    x = 3",
    BD + "b = Box(1, 1, 1)\nb.label = 'x'\nb.color = Color('red')\nb.position = (1, 2, 3)\nb.location *= Pos(1, 0, 0)",
    BD + "with BuildPart() as p, Locations((0, 0), (1, 1)):\n    Box(1, 1, 1)\nwith p:\n    Hole(1)",
    BD + "x = Line((0, 0), (1, 1)) @ 0.5 % 1 ^ 2\ny = Box(1, 1, 1).faces() >> Axis.Z",
    CQ + "d = {'length': 1, 'width': 2, 'height': 3}\nx = cq.Workplane().box(**d)\nprint(d['width'])",
    CQ + "x = cq.Workplane().text('a', 1, 1, font='Arial', combine='cut')",
    BD + "x = Text('a', 5, 'Arial', font_style=FontStyle.BOLD)",
    "from cadquery.func import *\ns = circle(5)\nx = text('a', 5, s, planar=True)\ny = text('a', 5, s, sphere(3))",
    CQ + "a = cq.Assembly()\na.children[0].color = cq.Color('red')\na.objects['x'].loc = cq.Location()",
    "x = {1: [2]}\nx[1][0] = 3\nx[2] = x.get(1)\n(a, *b), c = [1, 2], 3",
    "if 1 < 2 <= 3 and not (4 in [5] or 6 is None):\n    assert 1, 'x'\nelif ~1 | 2 & 3:\n    pass",
    "while True:\n    break\nelse:\n    x = 1",
    "x = (lambda a, *b, c=1, **d: a)\ny = x(1)",
    "def outer(n):\n    def inner(k):\n        return k + n\n    return inner\nadd = outer(1)\nprint(add(2))",
    "import copy, itertools, random, time, functools\nx = copy.deepcopy([1])\nprint(time.time() > random.random())",
]


@pytest.mark.parametrize(("code", "source"), REFUSED, ids=lambda value: value[:60])
def test_refused(code: str, source: str) -> None:
    assert code in codes(judge(source))


@pytest.mark.parametrize("source", LEFT_ALONE, ids=lambda value: value[:60])
def test_left_alone(source: str) -> None:
    assert codes(judge(source)) == []


def test_a_refused_import_is_said_once() -> None:
    assert codes(judge("import os.path\nos.path.join('a', open_('b'))\nos.system('c')")) == [
        "import.module",
        "name.unknown",
    ]
    assert codes(judge("from scipy.spatial import ConvexHull as H\nh = H([1])\nprint(H.anything)")) == ["import.module"]


@pytest.mark.parametrize(
    ("source", "hint"),
    [
        ("x = 1\nx.filet(1)", "did you mean fillet?"),
        ("x = 1\nx.makebox()", "did you mean makeBox?"),
        ("x = 1\nx.extrude_until_", "did you mean extrude_until?"),
        (CQ + "cq.Workplan()", "did you mean Workplane?"),
        ("from cadquery import workplane", "did you mean Workplane?"),
        ("lenght = 1\nprint(length)", "did you mean lenght?"),
        ("x = 'a'\nx.format_map({})", 'use an f-string: f"{x:.2f}"'),
        ("class A:\n    @property\n    def f(self):\n        pass", "write a plain method and call it"),
        ("import os", "remove it: results are collected without paths or directories"),
    ],
)
def test_a_hint_says_what_to_do(source: str, hint: str) -> None:
    verdict = judge(source)
    assert hint in [denial.hint for denial in getattr(verdict, "denials", ())]


FENCE = "send the code alone, without Markdown fences or prose"


@pytest.mark.parametrize(
    ("source", "hint"),
    [
        ("```python\nx = 1\n```\n", FENCE),
        ("\nHere is the script:\n\nx = 1", FENCE),
        ("Sure! Here's the code you asked for\nx = 1", FENCE),
        ("x = 1\n```\n", FENCE),
        ("for i in range(3)\n    pass", ""),
        ('print "some words of text"', ""),
        ("x = 1\nhere is no prose\n", ""),
    ],
)
def test_prose_and_fences_are_named(source: str, hint: str) -> None:
    verdict = judge(source)
    assert isinstance(verdict, Denied)
    assert [(denial.code, denial.hint) for denial in verdict.denials] == [("source.syntax", hint)]


@pytest.mark.parametrize(
    "source",
    [
        "import logging as log\nlog.info('x')\nlog.basicConfig(level=log.INFO)",
        "import logging\nlog = logging.getLogger()\nlog.info('x')",
        "import sys\nsys.exit(1)",
        "from os import path\npath.nothing().other[0].flags",
    ],
)
def test_what_hangs_on_a_refused_import_is_not_refused_again(source: str) -> None:
    verdict = judge(source)
    assert isinstance(verdict, Denied)
    assert [denial.code for denial in verdict.denials] == ["import.module"]
    assert "exit()" not in verdict.denials[0].hint


def test_a_hint_that_repeats_its_message_is_left_out() -> None:
    verdict = judge("print((1).ctypes)")
    assert isinstance(verdict, Denied)
    assert [denial.hint for denial in verdict.denials] == [""]
