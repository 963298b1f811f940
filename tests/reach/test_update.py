"""The real image in real sandboxes: today's libraries, and libraries as a next version may bring them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from types import MappingProxyType

import pytest

from casemate import Host
from casemate.control import runs
from casemate.control.places import default_stores
from casemate.errors import SandboxFault
from casemate.gate import Admitted, Denied, Rules, check, rules_named
from casemate.gate.tables import denied_attributes
from casemate.reach import survey, update
from casemate.reach.report import Survey
from casemate.runtime import images
from casemate.runtime.images import Image

#: What a next version of the libraries might bring; it runs before our program, in the same process.
NEXT_VERSION = '''
import functools, os, pathlib, sys, types
import build123d, cadquery

class Holder:
    """A class of the library that holds what it should not."""
    def __init__(self):
        self.inner_files = os

class Loader:
    def __reduce__(self):
        return (exec, ("",))

Holder.__module__ = Loader.__module__ = "cadquery.holder"
sys.modules["cadquery.holder"] = types.ModuleType("cadquery.holder")
vars(sys.modules["cadquery.holder"]).update(Holder=Holder, Loader=Loader)
A = cadquery.Assembly
A.files = os
A.opener = staticmethod(open)
A.frame = property(lambda self: sys._getframe())
A.here = functools.cached_property(lambda self: pathlib.Path("/"))
A.here.__set_name__(A, "here")
A.holder = Holder()
A.tool = functools.partial(os.system, "true")
A.tools = {"a": [os.system]}
A.run_text = lambda self, text: eval(text)
A.keep = lambda self, where: self.saveAs(where)
A.note_down = lambda self, file_name: None
A.raw = lambda self, size: None
A.raw.__annotations__["return"] = "TopoDS_Shape"
A.plain = lambda self, size: size
A.loader = Loader
A._quiet = A.__loud__ = lambda self: 1
setattr(A, "gr\\u00f6\\u00dfe", 1)
setattr(A, "class", 1)
setattr(A, "two words", 1)
for one in (A.run_text, A.keep, A.note_down, A.raw, A.plain):
    one.__module__ = "cadquery.assembly"
del cadquery.Workplane.cskHole
build123d.__all__.append("os_tools")
build123d.os_tools = os
build123d.__all__.append("shell")
build123d.shell = os.system
'''
HARMLESS = {"holder", "plain"}
#: attribute name -> what is said of where it leads
LEADS = {
    "files": "the module os",
    "opener": "a function of",
    "frame": "frame",
    "here": "pathlib",
    "inner_files": "the module os",
    "tool": "a function of",
    "tools": "a function of",
    "run_text": "eval",
    "keep": ".saveAs",
    "note_down": "file_name",
    "raw": "TopoDS_Shape",
    "loader": "exec",
}
#: an escape that needs no name but one that is in today's tables, and the one that the library brought
ESCAPE = "import cadquery as cq\ncq.Assembly().files.remove('/tmp/planted')\n"


@pytest.fixture(scope="module")
def image() -> Image:
    return images.find("cad", default_stores())


@pytest.fixture(scope="module")
def surveyed(host: Host, image: Image) -> Survey:
    return survey.survey(host, image)


def before(monkeypatch: pytest.MonkeyPatch, text: str, *edits: tuple[str, str]) -> None:
    """Have our programs run after this text, and with these edits, each of which must match exactly once."""
    real = survey.source

    def source(what: str, nonce: str, values: dict[str, object]) -> str:
        program = real(what, nonce, values)
        for old, new in edits:
            assert program.count(old) == 1, old
            program = program.replace(old, new)
        return f"{text}\n{program}"

    monkeypatch.setattr(survey, "source", source)


def with_tables(found: update.Update) -> Rules:
    """The gate with the tables that were made."""
    rules, made = rules_named("cad"), found.proposal.tables
    denied = {**made.reached, **denied_attributes.DENIED}
    return dataclasses.replace(
        rules,
        attributes=MappingProxyType(dict(made.attributes)),
        denied_attributes=MappingProxyType(denied),
        modules=MappingProxyType({**rules.modules, **made.modules}),
    )


def test_what_a_next_version_brings_is_denied_if_it_leads_to_what_no_script_may_have(
    host: Host, image: Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    before(monkeypatch, NEXT_VERSION)
    found = update.update(host, image)
    changes = {one.table: one for one in found.differences if one}
    assert set(changes["attributes"].added) == HARMLESS
    assert changes["attributes"].removed == {"cskHole": "the image has no such name"}
    reached = found.proposal.tables.reached
    assert set(reached) == set(LEADS)
    for name, what in LEADS.items():
        assert name in reached[name].partition(": ")[0]  # the path
        assert what in reached[name]
    assert reached["files"].startswith("cadquery.Assembly.files: ")
    assert ".holder.inner_files: " in reached["inner_files"]
    assert set(changes) == {"attributes", "denied_reached"}  # build123d got no name
    assert {"os_tools", "shell"} <= set(found.proposal.denied)
    verdict = check(ESCAPE.encode(), with_tables(found))
    assert isinstance(verdict, Denied)
    assert [denial.code for denial in verdict.denials] == ["attribute.denied"]


def test_the_twin_with_the_denial_off_admits_the_escape(
    host: Host, image: Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        before(
            patched, NEXT_VERSION,
            ('        what = described(value) if len(path) > 1 or name else ""\n', '        what = ""\n'),
            ("        if name and (opened := opens(value)):\n", "        if False:\n"),
            ("        if needs_arguments(function) or opens(function):\n", "        if True:\n"),
            ("        yield from self.elements(value)\n", "        return\n"),
        )  # fmt: skip
        found = update.update(host, image)
    assert not found.proposal.tables.reached
    assert set(LEADS) - {"inner_files"} <= set(found.proposal.tables.attributes)
    assert isinstance(check(ESCAPE.encode(), with_tables(found)), Admitted)
    planted = f"{NEXT_VERSION}\nopen('/tmp/planted', 'w').close()\n{ESCAPE}print(os.path.exists('/tmp/planted'))\n"
    made = host.request(planted, "strongest", None, None, "local", "local", gate=False)
    result = host.execute(made, runs.Cancellation(), lambda _: None)
    assert result.stdout.text.split() == ["False"]


def objects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey, "OBJECTS", 50)


def depth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey, "DEPTH", 1)


def seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey, "SECONDS", 0.0)


@pytest.mark.parametrize("bound", [objects, depth, seconds], ids=lambda bound: bound.__name__)
def test_a_bound_that_is_met_leaves_no_tables(
    host: Host, image: Image, surveyed: Survey, monkeypatch: pytest.MonkeyPatch,
    bound: Callable[[pytest.MonkeyPatch], None],
) -> None:  # fmt: skip
    monkeypatch.setattr(survey, "survey", lambda *_: surveyed)
    bound(monkeypatch)
    with pytest.raises(SandboxFault, match=f"bound of {bound.__name__}"):
        update.update(host, image)


BAD_LIBRARIES = {
    "prints without end": ("print('x' * (2 << 20))", "larger than"),
    "ends the process": ("import os\nos._exit(0)", "no report"),
    "ends it with an error": ("raise ValueError('broken')", "did not end well"),
    "crashes": ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)", "did not end well"),
    "is silent": ("import os, sys\nsys.stdout = open(os.devnull, 'w')", "no report"),
    "speaks last": (
        "import sys\nreal = sys.stdout.flush\nsys.stdout.flush = lambda: print('[1]') or real()",
        "no report",
    ),
    "lies about json": ("import json\njson.dumps = lambda *_: '[1]'", "did not end well"),
    "never comes back": ("while True:\n    pass", "did not end well"),
}


@pytest.mark.parametrize("name", BAD_LIBRARIES)
def test_a_library_that_spoils_the_report_leaves_no_tables(
    host: Host, image: Image, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    text, message = BAD_LIBRARIES[name]
    monkeypatch.setattr(survey, "WALL_TIME", 8.0)
    before(monkeypatch, text)
    with pytest.raises(SandboxFault, match=message):
        survey.survey(host, image)
