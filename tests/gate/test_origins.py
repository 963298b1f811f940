"""Where a name once came from excuses nothing: all pairs of origins of one name."""

from __future__ import annotations

import ast
import itertools

import pytest
from gate.room import CAD, MINIMAL, admit, codes, judge, run

from casemate.gate import Admitted, Rules
from casemate.gate.checks import names
from casemate.gate.context import Context

#: what can give a name a meaning; {n} is the name
ORIGINS = {
    "type": "from typing import Any as {n}",
    "type module": "import typing as {n}",
    "viewer": "from ocp_vscode import anything as {n}",
    "viewer module": "import ocp_vscode as {n}",
    "viewer object": "from ocp_vscode import Camera\n{n} = Camera()",
    "writer": "from build123d import ExportSVG as {n}",
    "writer module": "from cadquery import exporters as {n}",
    "class of a library": "from cadquery import Assembly as {n}",
    "function of a library": "from math import sqrt as {n}",
    "module": "import cadquery as {n}",
    "star": "from build123d import *",
    "refused": "import os as {n}",
    "own class": "class {n}:\n    def go_(self):\n        return 1",
    "own function": "def {n}():\n    return 1",
    "variable": "{n} = [1]",
    "loop": "for {n} in [1]:\n    print(1)",
    "parameter": "def other({n}):\n    return {n}",
    "in a function": "def other():\n    from typing import Any as {n}\n    return 1",
    "nothing": "print(1)",
}
#: a free name, one of the star, a builtin, another type, one that is injected
NAMES = ("x", "Compound", "max", "str", "show_object")
USES = (
    "print({n}().gi_frame)",
    "print({n}.mro)",
    "print({n}.format)",
    "print({n}(1)[0].wrapped)",
    "for y in [{n}.cast(1).f_globals]:\n    print(y)",
    "print({n}._private)",
    "print({n}.__class__)",
)


def attributes(verdict: Admitted) -> set[str]:
    return {node.attr for node in ast.walk(verdict.tree) if isinstance(node, ast.Attribute)}


@pytest.mark.parametrize(
    ("name", "rules"),
    [*((name, CAD) for name in NAMES), ("x", MINIMAL), ("max", MINIMAL)],
    ids=lambda value: getattr(value, "name", value),
)
def test_no_pair_of_origins_admits_an_attribute_outside_the_tables(name: str, rules: Rules) -> None:
    for first, second in itertools.product(ORIGINS.values(), repeat=2):
        for use in USES:
            source = "\n".join(part.format(n=name) for part in (first, second, use))
            verdict = judge(source, rules)
            if not isinstance(verdict, Admitted):
                continue
            # what is thrown away with a viewer's object is not in the tree
            assert attributes(verdict) <= {*rules.attributes, *rules.module_names["cadquery"]}, source


@pytest.mark.parametrize(
    "source",
    [
        "from typing import Any as x\nfrom cadquery import Assembly as x",
        "from cadquery import Assembly as x\nfrom typing import Any as x",
        "from typing import max",
        "from typing import str",
        "from build123d import *\nfrom ocp_vscode import Box",
        "from ocp_vscode import Box\nfrom build123d import *",
        "import math as x\nfrom cadquery import Assembly as x",
        "import math as max",
        "import math as show_object",
        "from build123d import *\nimport math as Box",
        "from cadquery import Assembly as x\nfrom ocp_vscode import Camera\nx = Camera()",
        "from numpy import ndarray as n\nfrom numpy import array as n",
    ],
)
def test_a_name_of_two_origins_is_refused(source: str) -> None:
    assert "name.conflict" in codes(judge(source))


@pytest.mark.parametrize(
    "source",
    [
        "try:\n    from ocp_vscode import show_object\nexcept ImportError:\n    pass\nshow_object(1)",
        "from build123d import *\nfrom ocp_vscode import *\nshow(Box(1, 2, 3))",
        "try:\n    from ocp_vscode import show\nexcept ImportError:\n    from cadquery.vis import show\nshow(1)",
        "from math import pow\nfrom numpy import max\nprint(pow(2, 3), max([1]))",
        "import cadquery.exporters\nimport cadquery as cq\nfrom cadquery import exporters\nprint(cq.Workplane())",
    ],
)
def test_honest_scripts_bind_a_name_twice(source: str) -> None:
    admit(source)


@pytest.mark.parametrize(
    "source",
    [
        "class Box:\n    pass\nfrom build123d import *\nclass Mine(Box):\n    pass",
        "def f():\n    class Box:\n        pass\nfrom build123d import *\nclass Mine(Box):\n    pass",
        "def f():\n    class int:\n        pass\nclass Mine(int):\n    pass",
    ],
)
def test_a_class_that_may_be_another_is_no_base(source: str) -> None:
    assert "class.base" in codes(judge(source))
    admit("from build123d import *\nclass Own:\n    pass\nclass Mine(Own):\n    pass")


def test_a_star_import_binds_what_it_names() -> None:
    source = "class A:\n    pass\nBox = A()\n{}\nBox.note_ = 1"
    admit(source.format("print(1)"))
    assert codes(judge(source.format("from build123d import *"))) == ["store.attribute"]


def test_the_twin_skips_what_was_once_erased(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it was: whatever hangs on a name that some import erased was not judged."""
    source = (
        "from typing import Any as x\nfrom cadquery import Assembly as x\nprint(x().traverse().gi_frame.f_builtins)"
    )
    assert {"attribute.denied", "name.conflict"} == set(codes(judge(source)))
    monkeypatch.setattr(names, "conflicts", lambda context: None)
    assert "attribute.denied" in codes(judge(source))  # either is enough
    monkeypatch.setattr(Context, "was_said", lambda self, node: self.imports.is_erased(node))
    assert {"gi_frame", "f_builtins"} <= attributes(admit(source))


MEMORY = (
    ("call.type", "import numpy as np\nnp.ndarray((1,), float, [])"),
    ("call.type", "import numpy as np\nmake = np.ndarray"),
    ("call.type", "import numpy as np\nisinstance(np.ndarray, list)"),
    ("call.type", "from numpy import ndarray as make\nprint([make])"),
    ("call.type", "import numpy as np\ndef isinstance(a, b):\n    return b\nisinstance(1, np.ndarray)"),
    ("attribute.module", "import numpy as np\nnp.dtype('O')"),
    ("attribute.module", "import numpy as np\nnp.frombuffer(1)"),
    ("call.dtype", "import numpy as np\nnp.empty(1, 'O')"),
    ("call.dtype", "import numpy as np\nnp.array([1], dtype='i8,O')"),
    ("call.dtype", "import numpy as np\nnp.zeros(1, dtype=[('a', 'O')])"),
    ("call.dtype", "import numpy as np\nnp.zeros(1, **{'dtype': 'V8'})"),
    ("call.dtype", "import numpy as np\nnp.zeros(1).astype('O')"),
    ("attribute.denied", "import numpy as np\nnp.zeros(1).view(int)"),
    ("attribute.denied", "import numpy as np\nprint(np.zeros(1).strides)"),
    ("store.attribute", "import numpy as np\na = np.zeros(1)\na.dtype = int"),
    ("store.attribute", "import numpy as np\na = np.zeros(1)\na.shape = 1"),
)


@pytest.mark.parametrize(("code", "source"), MEMORY)
def test_memory_is_not_given_another_meaning(code: str, source: str) -> None:
    assert code in codes(judge(source))


def test_arrays_of_numbers_are_made_as_ever() -> None:
    admit(
        "import numpy as np\na = np.array([1, 2], dtype='float32')\nb = np.zeros((2, 3), int)\n"
        "c = np.empty(3, dtype=a.dtype).astype(np.float64).astype('<f8')\n"
        "def f(v: np.ndarray) -> np.ndarray:\n"
        "    return isinstance(v, (list, np.ndarray)) or isinstance(v, np.ndarray)\n"
        "print(f(a), np.linspace(0, 1, 5, True, False, float), np.ones(2, **{'dtype': None}))"
    )


def test_the_value_of_main_is_the_value_of_the_last_line() -> None:
    verdict = admit("def main():\n    return 3\nif __name__ == '__main__':\n    main()")
    assert ast.unparse(verdict.tree.body[-1]) == "main()"
    assert run(admit("if __name__ == '__main__':\n    print(1)\nelse:\n    print(2)")).printed == ["1"]
    assert isinstance(admit("if __name__ == '__main__':\n    print(1)\nelse:\n    print(2)").tree.body[-1], ast.If)
