"""The gate on any bytes: denied or admitted, never another error, and a verdict that reaches the other side.

What is admitted holds nothing but what the tables admit.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses

from gate.room import CAD, MINIMAL, Admitted, Denied, check

from casemate.gate import EXPORT, IMPORT, INPUT, OWN_CLASS, STAR, Rules
from casemate.gate.tables import limits
from casemate.guest import report as written
from casemate.runtime import report as read

INPUTS = frozenset({"a", "a.step", "profile.dxf"})
INJECTED = {EXPORT, IMPORT, INPUT, STAR}


def cad(source: bytes) -> str:
    """By the rules `cad`."""
    return _word(holds(source, CAD))


def minimal(source: bytes) -> str:
    """By the rules `cad-minimal`."""
    return _word(holds(source, MINIMAL))


def _word(verdict: Admitted | Denied) -> str:
    return "admitted" if isinstance(verdict, Admitted) else "denied"


def holds(source: bytes, rules: Rules, inputs: frozenset[str] = INPUTS) -> Admitted | Denied:
    """Check a source, and everything that must be true of the answer."""
    verdict = check(source, rules, inputs)
    if isinstance(verdict, Denied):
        _denied(verdict, source)
    else:
        assert isinstance(verdict, Admitted)
        _admitted(verdict, rules)
    _arrives(verdict)
    return verdict


def _arrives(verdict: Admitted | Denied) -> None:
    """The record of it, as the guest writes it, is a gate's record to the parser outside."""
    denials = verdict.denials if isinstance(verdict, Denied) else ()
    notices = verdict.notices if isinstance(verdict, Admitted) else ()
    record = written.encode(
        {
            "kind": "gate",
            "admitted": isinstance(verdict, Admitted),
            "denials": [dataclasses.asdict(denial) for denial in denials],
            "notices": [dataclasses.asdict(notice) for notice in notices],
            "omitted": 0,
            "seconds": 0.0,
        }
    )
    told = read.parse(record)
    assert told.damaged == ""
    assert told.gate is not None
    assert told.gate.admitted is isinstance(verdict, Admitted)
    assert told.gate.denials == denials[: len(told.gate.denials)]
    assert told.gate.denials or not denials


def _denied(verdict: Denied, source: bytes) -> None:
    assert 1 <= len(verdict.denials) <= limits.DENIALS + 1
    places = [(denial.line, denial.column) for denial in verdict.denials]
    assert places == sorted(places)
    lines = source.count(b"\n") + 1
    for denial in verdict.denials:
        assert denial.code
        assert denial.message
        assert 0 <= denial.line <= lines
        assert denial.column >= 0
        assert len(denial.name) <= 6 * limits.NAME
        assert len(denial.source_line) <= limits.SOURCE_LINE
        for text in (denial.message, denial.name, denial.source_line, denial.hint):
            assert text.replace("\t", "").isprintable()


def _admitted(verdict: Admitted, rules: Rules) -> None:
    compile(verdict.tree, "<script>", "exec")
    bound = {
        node.id for node in ast.walk(verdict.tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    for node in ast.walk(verdict.tree):
        assert type(node).__name__ in rules.nodes
        if isinstance(node, ast.Name):
            own = node.id.startswith("__own_") and node.id.endswith("__")
            assert not node.id.startswith("__") or node.id in INJECTED or own
            if node.id in rules.refused_builtins and hasattr(builtins, node.id):
                assert node.id in rules.shadowable_builtins
        elif isinstance(node, ast.Attribute):
            own = node.attr == OWN_CLASS or (node.attr.startswith("__own_") and node.attr.endswith("__"))
            assert not node.attr.startswith("_") or own or node.attr == "__init__"
            assert own or node.attr not in rules.denied_attributes
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            assert not node.decorator_list
            assert not node.name.startswith("__") or node.name == "__init__"
        elif isinstance(node, ast.arg):
            assert node.annotation is None
            assert not node.arg.startswith("__")
        elif isinstance(node, ast.keyword):
            assert node.arg is None or not node.arg.startswith("__")
        elif isinstance(node, ast.Constant):
            assert isinstance(node.value, int | float | str | bool | None)
    assert not bound & {"exec", "eval", "open", "super", "getattr", "globals"}
