"""Mutants of the gate: each refusal, each bound, each entry of a denied list; they need no sandbox."""

from __future__ import annotations

from collections.abc import Iterator

from mutants import removals
from mutants.mutant import Mutant, source

from casemate.gate.tables import limits

TESTS = (
    "tests/gate/test_rules.py",
    "tests/gate/test_source.py",
    "tests/gate/test_attacks.py",
    "tests/gate/test_tables.py",
)
WIDER = ("tests/gate",)
TABLES = "gate/tables"
FILES = (
    "check", "expressions", "formats", "imports", "own", "parse", "source", "statements", "checks/attributes",
    "checks/calls", "checks/classes", "checks/constants", "checks/names", "checks/nodes", "checks/stores", "checks/types",
)  # fmt: skip
SHOWN = {"SOURCE_LINE", "NAME", "MESSAGE", "SUGGESTIONS", "DENIALS", "DENIALS_FOUND"}
"""Bounds on what is told, not on what is admitted."""


def _one(name: str, edit: tuple[str, str, str], tests: tuple[str, ...] = TESTS) -> Mutant:
    return Mutant("gate", f"gate: {name}", (edit,), tests, WIDER)


def mutants() -> Iterator[Mutant]:
    """All of them."""
    for file in FILES:
        for name, edit in removals.calls(f"gate/{file}.py", "deny", "deny_at"):
            yield _one(f"{file}: {name}", edit)
    for name, edit in _calls_of_check():
        yield _one(name, edit)
    for bound in sorted(vars(limits).keys() - SHOWN):
        if bound.isupper():
            line = next(line for line in source(f"{TABLES}/limits.py").splitlines() if line.startswith(f"{bound} ="))
            edit = (f"{TABLES}/limits.py", f"{line}\n", f"{bound} = 1 << 40\n")
            yield _one(
                f"no bound {bound}",
                edit,
                ("tests/gate/test_rules.py", "tests/gate/test_source.py", "tests/gate/test_growth.py"),
            )
    tables = ("tests/gate/test_tables.py", "tests/gate/test_rules.py", "tests/gate/test_own.py")
    for table in ("REFUSED", "SHADOWABLE"):
        for name, edit in removals.entries(f"{TABLES}/builtins.py", table):
            yield _one(f"builtins {name}", edit, tables)
    for name, edit in removals.entries(f"{TABLES}/denied_attributes.py", "DENIED"):
        yield _one(f"attributes {name}", edit, tables)
    for name, edit in removals.entries(f"{TABLES}/calls.py", "FONT_KEYWORDS"):
        yield _one(name, edit)
    yield from _admitted()


def _calls_of_check() -> removals.Found:
    """Each rule that is not asked."""
    file = "gate/check.py"
    yield from removals.statements(file, "_tree", "_rewrite")
    for old, new in (
        ("        ast.ClassDef: (classes.check,),\n", ""),
        ("        ast.ExceptHandler: (classes.check,),\n", ""),
        ("        ast.withitem: (classes.check,),\n", ""),
        ("        ast.Attribute: (attributes.check, stores.check),\n", "        ast.Attribute: (stores.check,),\n"),
        ("        ast.Attribute: (attributes.check, stores.check),\n", "        ast.Attribute: (attributes.check,),\n"),
        ("        ast.Subscript: (stores.check,),\n", ""),
        ("        ast.Call: (calls.check,),\n", ""),
    ):
        yield f"rules {old.strip()} to {new.strip() or 'nothing'}", (file, old, new)
    for name in ("_characters(text, findings)", "_cookie(text, findings)", "        _identifiers(text, findings)"):
        call = name.strip()
        indent = name[: len(name) - len(call)] or "    "
        yield f"source: {call}", ("gate/source.py", f"{indent}{call}\n", f"{indent}pass\n")
    yield "source: not strict", ("gate/source.py", 'body.decode("utf-8", "strict")', 'body.decode("utf-8", "replace")')


def _admitted() -> Iterator[Mutant]:
    """An entry too many in a list of what is admitted."""
    nodes = source(f"{TABLES}/nodes.py")
    refused = nodes.partition("REFUSED = {\n")[2].partition("}\n")[0]
    for line in refused.splitlines():
        name = line.strip().split('"')[1]
        if "never made by the parser" in line or name in (
            "TemplateStr",
            "Interpolation",
            "TypeAlias",
            "TypeVar",
            "ParamSpec",
            "TypeVarTuple",
        ):
            continue  # not in this Python's grammar, or not of this mode
        edit = (f"{TABLES}/nodes.py", "ADMITTED = {\n", f'ADMITTED = {{\n    "{name}": "a mutant\'s",\n')
        yield _one(f"node {name} is admitted", edit)
    for name in (
        "eval",
        "exec",
        "compile",
        "open",
        "getattr",
        "setattr",
        "globals",
        "vars",
        "type",
        "object",
        "__import__",
        "memoryview",
    ):
        edit = (f"{TABLES}/builtins.py", "ADMITTED = {\n", f'ADMITTED = {{\n    "{name}": "a mutant\'s",\n')
        yield _one(f"builtin {name} is admitted", edit, ("tests/gate/test_tables.py", *TESTS))
    for name in ("os", "sys", "subprocess", "ctypes", "importlib", "builtins", "pickle", "socket", "io"):
        edit = (f"{TABLES}/imports.py", "PURE = {\n", f'PURE = {{\n    "{name}": {{"system": "a mutant\'s"}},\n')
        yield _one(f"module {name} is admitted", edit)
    for name in ("ctypes", "base", "data", "f_globals", "gi_frame", "tofile", "wrapped"):
        edit = (f"{TABLES}/attributes.py", "ALLOWED = {\n", f'ALLOWED = {{\n    "{name}": "a mutant\'s",\n')
        yield _one(f"attribute {name} is admitted", edit, ("tests/gate/test_tables.py", *TESTS))
