"""What the gate changes in a tree before it admits it."""

from __future__ import annotations

import pytest
from gate.room import CAD, MINIMAL, admit, codes, judge, run, text

from casemate.gate import Denied


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import cadquery as cq", "cq = __casemate_import__('cadquery')"),
        ("import cadquery", "cadquery = __casemate_import__('cadquery')"),
        ("import cadquery.selectors", "cadquery = __casemate_import__('cadquery')"),
        ("import cadquery.selectors as s", "s = __casemate_import__('cadquery.selectors')"),
        ("from cadquery import selectors as s", "s = __casemate_import__('cadquery.selectors')"),
        ("from cadquery import Workplane as W", "W = __casemate_import__('cadquery', 'Workplane')"),
        ("from build123d import *", "__casemate_star__('build123d')"),
        ("import math, numpy as np", "math = __casemate_import__('math')\nnp = __casemate_import__('numpy')"),
        ("from typing import List\nfrom __future__ import annotations", ""),
        ("import ocp_vscode", ""),
        ("def f():\n    from typing import Any", "def f():\n    None"),
        ("try:\n    import ocp_vscode\nexcept ImportError:\n    pass", "try:\n    None\nexcept ImportError:\n    pass"),
    ],
)
def test_imports(source: str, expected: str) -> None:
    assert text(source).replace("\n\n", "\n") == expected


CQ = "import cadquery as cq\nx = cq.Workplane()\n"
CQ_TEXT = "cq = __casemate_import__('cadquery')\nx = cq.Workplane()\n"


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ('cq.exporters.export(x, "a.step")', "__casemate_export__(x)"),
        ('cq.exporters.export(x.val(), "a.stl", tolerance=0.1)', "__casemate_export__(x.val())"),
        ('cq.exporters.export(w=x, fname="a.step")', "__casemate_export__(x)"),
        ('cq.exporters.export(x, "a.svg", cq.exporters.ExportTypes.SVG, opt={"w": 1})', "__casemate_export__(x)"),
        ('from cadquery import exporters\nexporters.export(x, "a.step")', "__casemate_export__(x)"),
        ('import cadquery.exporters as e\ne.export(x, "a.step")', "__casemate_export__(x)"),
        ('from cadquery.exporters import export as w\nw(x, "a.step")', "__casemate_export__(x)"),
        ('from cadquery.occ_impl.exporters import export\nexport(x, "a.step")', "__casemate_export__(x)"),
        ('x.val().exportStep("a.step")', "__casemate_export__(x.val())"),
        ('x.export("a.step")', "__casemate_export__(x)"),
        ('cq.Assembly(x).save("a.step")', "__casemate_export__(cq.Assembly(x))"),
        ('cq.Assembly(x).export("a.glb", tolerance=1)', "__casemate_export__(cq.Assembly(x))"),
        ('ok = x.val().exportBrep("a.brep")', "ok = __casemate_export__(x.val())"),
        ('r = x.box(1, 1, 1).export("a.step")', "r = __casemate_export__(x.box(1, 1, 1))"),
        ('if x:\n    x.export("a.step")', "if x:\n    __casemate_export__(x)"),
        ('from build123d import *\nexport_step(x, "a.step")', "__casemate_star__('build123d')\n__casemate_export__(x)"),
        ('from build123d import export_stl as w\nw(to_export=x, file_path="a")', "__casemate_export__(x)"),
        (
            'import build123d as bd\nbd.export_gltf(x, "a.glb")',
            "bd = __casemate_import__('build123d')\n__casemate_export__(x)",
        ),
    ],
)
def test_exports(statement: str, expected: str) -> None:
    assert text(CQ + statement) == CQ_TEXT + expected


def test_an_export_gives_its_object_back() -> None:
    ran = run(admit("x = [1]\ny = x.export('a.step')\nprint(y)"))
    assert ran.exported == [[1]]
    assert ran.printed == ["[1]"]


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ('cq.exporters.export(x, open("/etc/passwd").name)', "name.builtin"),
        ("cq.exporters.export(x, ().__class__)", "attribute.dunder"),
        ('cq.exporters.export(open("/etc/passwd"), "a.step")', "name.builtin"),
        ('print(cq.exporters.export(x, "a.step"))', "attribute.module"),
        ("cq.exporters.export", "attribute.module"),
        ("y = cq.exporters", "attribute.module"),
        ("from cadquery import exporters\nprint(exporters)", "import.erased"),
        ("from cadquery import exporters\nexporters.os.getcwd()", "import.erased"),
        ("from cadquery.exporters import os", "import.name"),
        ("from build123d import Mesher\nprint(Mesher)", "import.erased"),
        ("x.export()", "attribute.denied"),
    ],
)
def test_what_looks_like_an_export_and_is_none(statement: str, code: str) -> None:
    assert code in codes(judge(CQ + statement))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = 1\nshow_object(x)", "x = 1\nshow_object(x)"),
        ("show_object(1, 'a', {'color': 'red'})", "show_object(1, 'a', {'color': 'red'})"),
        ("show_object(1, name='a', options={'color': 'red'})", "show_object(1, name='a')"),
        ("debug(1, name='d')", "debug(1, name='d')"),
        (
            "from ocp_vscode import show as s, Camera\ns(1, 2, names=['a'], reset_camera=Camera.KEEP)",
            "show(1, 2, names=['a'])",
        ),
        ("from ocp_vscode import *\nshow(1, collapse=Collapse.ALL)\nset_port(3939)\nreset_show()", "show(1)"),
        ("import ocp_vscode as ov\nov.set_defaults(axes=True)\nov.show(1)", "show(1)"),
        ("show_all()", ""),
        ("from jupyter_cadquery.viewer import Viewer\nv = Viewer()\nv.show(1)\nv.close()", "show(1)"),
        ("if 'show_object' in globals():\n    show_object(1)", "show_object(1)"),
        ("if 'show_object' not in locals():\n    x = 1", "if False:\n    x = 1"),
        ("def show(x):\n    return x\nshow(1, colour=2)", "def show(x):\n    return x\nshow(1, colour=2)"),
        (
            "from build123d import *\ne = ExportSVG(scale=2)\ne.add_layer('a')\ne.write('a.svg')",
            "__casemate_star__('build123d')",
        ),
    ],
)
def test_viewers(source: str, expected: str) -> None:
    assert text(source).replace("\n\n", "\n") == expected


@pytest.mark.parametrize(
    "source",
    [
        "show_object(1, options=().__class__)",
        "show_all(open('x'))",
        "from ocp_vscode import *\nset_port(exec('x'))",
        "from ocp_vscode import Camera\nprint(Camera.KEEP)",
    ],
)
def test_what_is_thrown_away_is_checked(source: str) -> None:
    assert isinstance(judge(source), Denied)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("if __name__ == '__main__':\n    x = 1", "x = 1"),
        ("if '__main__' == __name__:\n    x = 1", "x = 1"),
        ("if __name__ in ('__main__', 'temp'):\n    x = 1", "x = 1"),
        ("x: int = 1", "x = 1"),
        ("x: 'cq.Workplane | None'", ""),
        ("def f(a: int, *b: str, c: float=1.0, **d: list[int]) -> tuple[int, ...]:\n    pass",
         "def f(a, *b, c=1.0, **d):\n    pass"),
        ("class A(object):\n    x: int", "class A:\n    __own_class__ = True\n    None"),
        ("try:\n    x = 1\nexcept:\n    x = 2", "try:\n    x = 1\nexcept Exception:\n    x = 2"),
        ("__author__ = 'me'\n__all__ = ['x']\nx = 1", "x = 1"),
        ("from typing import Tuple\nV = Tuple[int, int]\nx: V = (1, 2)", "x = (1, 2)"),
        ("v = 2\nprint('{:.2f} mm'.format(v))", "v = 2\nprint(f'{v:.2f} mm')"),
        ("v = 2\nprint('{0} {n!r:>5} {{}}'.format(v, n=3))", "v = 2\nprint(f'{v} {3!r:>5} {{}}')"),
    ],
)  # fmt: skip
def test_small_things(source: str, expected: str) -> None:
    assert text(source).replace("\n\n", "\n") == expected


@pytest.mark.parametrize(
    "source",
    [
        "'{0.real}'.format(1)",
        "'{0[0]}'.format([1])",
        "'{:{}}'.format(1, 2)",
        "'{} {0}'.format(1)",
        "'{1} {0}'.format(print(1), print(2))",
        "'{}'.format(*[1])",
        "'{a}'.format(**{'a': 1})",
        "'{'.format(1)",
        "x = 'a'\nx.format(1)",
    ],
)
def test_a_format_that_is_no_plain_one_stays_refused(source: str) -> None:
    assert "attribute.denied" in codes(judge(source))


@pytest.mark.parametrize(
    "call", ["'{:.2f}'.format(v)", "'{1} {0} {1}'.format(v, w)", "'{a} {b!r:>9}'.format(a=v, b=w)"]
)
def test_a_rewritten_format_prints_the_same(call: str) -> None:
    source = f"v, w = 2.5, 'x'\nprint({call})"
    assert run(admit(source)).printed == [eval(call, {"v": 2.5, "w": "x"})]


INPUTS = frozenset({"a.step", "b.dxf"})


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('import cadquery as cq\nx = cq.importers.importStep("a.step")',
         "cq = __casemate_import__('cadquery')\nx = __casemate_input__('cadquery.importers.importStep', 'a.step')"),
        ('from cadquery import importers\nx = importers.importDXF("b.dxf", tol=0.1)',
         "x = __casemate_input__('cadquery.importers.importDXF', 'b.dxf', tol=0.1)"),
        ('import cadquery as cq\nx = cq.Sketch().importDXF(filename="b.dxf", mode="a")',
         "cq = __casemate_import__('cadquery')\n"
         "x = __casemate_input__('cadquery.Sketch.importDXF', 'b.dxf', cq.Sketch(), mode='a')"),
        ('from build123d import *\nx = import_step("a.step") + Box(1, 1, 1)',
         "__casemate_star__('build123d')\nx = __casemate_input__('build123d.import_step', 'a.step') + Box(1, 1, 1)"),
        ('from build123d import import_step as r\nx = r("a.step")',
         "x = __casemate_input__('build123d.import_step', 'a.step')"),
    ],
)  # fmt: skip
def test_given_inputs(source: str, expected: str) -> None:
    assert text(source, inputs=INPUTS) == expected
    assert "call.input" in codes(judge(source))


@pytest.mark.parametrize(
    "name", ['"/etc/passwd"', '"../a.step"', '"a" + ".step"', 'f"a.step"', "name", "", '*["a.step"]']
)
def test_no_other_file_is_read(name: str) -> None:
    source = f"from build123d import *\nname = 'a.step'\nx = import_step({name})"
    verdict = judge(source, inputs=INPUTS)
    assert codes(verdict) == ["call.input"]
    assert isinstance(verdict, Denied)
    assert "a.step" in verdict.denials[0].hint


def test_the_minimal_tables_have_no_containers_and_no_comparisons() -> None:
    assert codes(judge("import cadquery as cq\nresult = cq.Workplane().box(1, 2, 3)", MINIMAL)) == []
    assert codes(judge("x = [1]", MINIMAL)) == ["node.List"]
    assert codes(judge("x = 1 < 2", MINIMAL)) == ["node.Compare"]
    assert codes(judge("x = -1", MINIMAL)) == ["node.UnaryOp"]
    assert codes(judge("import random", MINIMAL)) == ["import.module"]
    assert codes(judge("import random", CAD)) == []
    assert codes(judge("while 1:\n    x = 1", MINIMAL)) == ["node.While"]
