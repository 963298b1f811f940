"""Each family of rules with its twin: the same script does its harm when the rule is off.

`plain` runs the text with no gate. `weaker` is the set of tables with one entry changed, which then admits the script;
run by the tests' guest it reaches what the entry keeps away. The marks are harmless.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from types import MappingProxyType

import pytest
from gate.room import CAD, admit, codes, judge, run, run_plain

from casemate.gate import Denied, Rules, check


def without(table: Mapping[str, str], *names: str) -> Mapping[str, str]:
    return MappingProxyType({name: reason for name, reason in table.items() if name not in names})


def with_entries(table: Mapping[str, str], *names: str) -> Mapping[str, str]:
    return MappingProxyType({**table, **dict.fromkeys(names, "a twin's")})


def with_module(rules: Rules, module: str, *names: str) -> Rules:
    modules = MappingProxyType({**rules.modules, module: with_entries(rules.modules.get(module, {}), *names)})
    return dataclasses.replace(rules, modules=modules)


def builtin(*names: str) -> Rules:
    return dataclasses.replace(
        CAD,
        builtins=with_entries(CAD.builtins, *names),
        refused_builtins=without(CAD.refused_builtins, *names),
        shadowable_builtins=without(CAD.shadowable_builtins, *names),
    )


def attribute(*names: str) -> Rules:
    return dataclasses.replace(
        CAD,
        attributes=with_entries(CAD.attributes, *names),
        denied_attributes=without(CAD.denied_attributes, *names),
    )


def node(*names: str) -> Rules:
    return dataclasses.replace(CAD, nodes=with_entries(CAD.nodes, *names))


FAMILIES: list[tuple[str, str, Rules]] = [
    ("import.module", "import os\nprint('REACHED', os.sep)", with_module(CAD, "os", "sep")),
    ("import.name", "from random import _os\nprint('REACHED', _os.sep)", CAD),
    ("attribute.module", "import time\nprint('REACHED', time.sleep(0))", with_module(CAD, "time", "sleep")),
    (
        "import.star",
        "from time import *\nprint('REACHED', time() > 0)",
        dataclasses.replace(CAD, stars=with_entries(CAD.stars, "time")),
    ),
    ("name.builtin", "exec(\"print('REACHED')\")", builtin("exec")),
    ("name.builtin", "print('REACHED', getattr(1, 're' + 'al'))", builtin("getattr")),
    ("name.builtin", "t = type(1)\nprint('REACHED', t)", builtin("type")),
    (
        "attribute.denied",
        "frame = (x for x in [1]).gi_frame\nprint('REACHED', 'open' in frame.f_builtins)",
        attribute("gi_frame", "f_builtins"),
    ),
    ("attribute.denied", "print('REACHED', int.mro()[-1])", attribute("mro")),
    ("attribute.denied", "f = '{0.__class__}'.format\nprint('REACHED', f(1))", attribute("format")),
    ("attribute.denied", "print('REACHED', '{a.__class__}'.format_map({'a': 1}))", attribute("format_map")),
    ("attribute.unknown", "print('REACHED', StopIteration(1).value)", attribute("value")),
    ("node.Global", "def f():\n    global print_\n    print_ = 'REACHED'\nf()\nprint(print_)", CAD),
    ("node.Delete", "x = ['REACHED', 1]\ndel x[1]\nprint(x)", node("Delete")),
    ("node.NamedExpr", "print([y for x in [1] if (y := 'REACHED')])", CAD),
    ("node.Match", "match 1:\n    case int(real=r):\n        print('REACHED', r)", CAD),
    ("node.Yield", "def f():\n    yield 'REACHED'\nprint(*f())", node("Yield")),
    ("store.attribute", "def f():\n    pass\nf.label_ = 'REACHED'", CAD),
    (
        "store.attribute",
        "e = ValueError()\ne.args = ('REACHED',)\nprint(e)",
        dataclasses.replace(CAD, storable=with_entries(CAD.storable, "args")),
    ),
]


@pytest.mark.parametrize(("code", "source", "weaker"), FAMILIES, ids=lambda value: str(value)[:50])
def test_the_rule_and_its_twin(code: str, source: str, weaker: Rules) -> None:
    assert code in codes(judge(source))
    ran = run_plain(source)
    assert any("REACHED" in line for line in ran.printed) or ran.variables["f"].label_ == "REACHED"
    if weaker is not CAD:
        printed = run(admit(source, weaker), weaker).printed
        assert any("REACHED" in line for line in printed)


#: rules that are code and not an entry: the text alone shows what they keep away
PLAIN: list[tuple[str, str]] = [
    ("attribute.dunder", "print('REACHED', ().__class__.__base__)"),
    ("attribute.dunder", "print(f'REACHED {().__class__}')"),
    ("attribute.dunder", "try:\n    1 / 0\nexcept Exception as e:\n    print('REACHED', e.__traceback__.tb_frame)"),
    ("attribute.dunder", "print('REACHED', print.__self__)"),
    ("attribute.dunder", "def f():\n    pass\nprint('REACHED', f.__globals__['__name__'])"),
    ("name.dunder", "print('REACHED', __builtins__ is not None)"),
    ("name.dunder", "class A:\n    def __getattr__(self, name):\n        return 'REACHED'\nprint(A().x)"),
    ("name.dunder", "class A:\n    __str__ = lambda self: 'REACHED'\nprint(A())"),
    ("node.decorator", "@print\n@lambda f: 'REACHED'\ndef f():\n    pass"),
    ("node.annotation", "def f(x: print('REACHED') = 1):\n    pass"),
    ("node.annotation", "x: print('REACHED') = 1"),
    ("class.base", "class S(str):\n    def upper(self, *a):\n        return 'REACHED'\nprint(S().upper())"),
    ("class.keyword", "class A(metaclass=lambda *a: print('REACHED')):\n    pass"),
    ("call.callee", "(lambda: print('REACHED'))()"),
    ("call.print", "class W:\n    def write(s, x):\n        w.append(x)\nw = []\nprint('REACHED', file=W())\nprint(w)"),
    ("call.unpack", "d = {}\nd['sep'] = 'REACHED'\nprint(1, 2, **d)"),
    ("store.imported", "import math\n[0 for math.tau_ in [print]]\nmath.tau_('REACHED')"),
    ("name.import", "import math\nmath = 'REACHED'\nprint(math)"),
    ("import.use", "import math\nprint('REACHED', math)"),
    ("except.type", "def f():\n    print('REACHED')\n    return KeyError\ntry:\n    {}[1]\nexcept f():\n    pass"),
    ("with.item", "import warnings\nwith warnings.catch_warnings() as c:\n    print('REACHED', c)"),
    ("name.builtin", "try:\n    raise KeyboardInterrupt\nexcept BaseException:\n    print('REACHED')"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "source"), PLAIN, ids=lambda value: value[:50])
def test_what_the_code_of_a_rule_keeps_away(code: str, source: str) -> None:
    assert isinstance(judge(source), Denied)
    assert code in codes(judge(source))
    assert any("REACHED" in line for line in run_plain(source).printed)
    vars(math).pop("tau_", None)  # what one of them stored there


def test_a_rule_named_by_the_source_alone() -> None:
    """The bytes that the gate refuses are read by Python as code that the reader does not see."""
    hidden = b"x = 1 #\rprint('REACHED')\n"
    assert codes(check(hidden, CAD)) == ["source.carriage_return"]
    assert run_plain(hidden.decode()).printed == ["REACHED"]
    disguised = "\uff50rint('REACHED')"
    assert codes(judge(disguised)) == ["name.nfkc"]
    assert run_plain(disguised).printed == ["REACHED"]
    cookie = b"# coding: utf-7\n+AHAAcgBpAG4AdAAoACcAUgBFAEEAQwBIAEUARAAnACk-"
    assert codes(check(cookie, CAD)) == ["source.cookie"]
    namespace: dict[str, object] = {"print": lambda text: namespace.update(said=text)}
    exec(compile(cookie, "<script>", "exec"), namespace)
    assert namespace["said"] == "REACHED"


def test_a_denied_script_has_not_run_a_line() -> None:
    marked: list[str] = []
    source = "marks.append('first line')\nimport os\n"
    verdict = check(b"print('first line')\nimport os\n", CAD)
    assert isinstance(verdict, Denied)
    assert not marked
    with pytest.raises(NameError):
        exec(source, {})
