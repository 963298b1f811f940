"""The tables: complete for this Python, consistent with each other, and each entry with its reason."""

from __future__ import annotations

import ast
import builtins as python_builtins
import keyword
import math

import pytest
from gate.room import CAD, MINIMAL

from casemate.gate import rules_named
from casemate.gate.tables import attributes, builtins, calls, denied_attributes, imports, nodes, stores, viewers

TABLES = {
    "nodes.ADMITTED": nodes.ADMITTED,
    "nodes.REFUSED": nodes.REFUSED,
    "nodes.ABSTRACT": nodes.ABSTRACT,
    "nodes.MINIMAL": nodes.MINIMAL,
    "nodes.CONSTANTS_REFUSED": nodes.CONSTANTS_REFUSED,
    "builtins.ADMITTED": builtins.ADMITTED,
    "builtins.EXCEPTIONS": builtins.EXCEPTIONS,
    "builtins.INJECTED": builtins.INJECTED,
    "builtins.REFUSED": builtins.REFUSED,
    "builtins.SHADOWABLE": builtins.SHADOWABLE,
    "attributes.ALLOWED": attributes.ALLOWED,
    "denied_attributes.DENIED": denied_attributes.DENIED,
    "denied_attributes.OWN_WORDS": denied_attributes.OWN_WORDS,
    "stores.STORABLE": stores.STORABLE,
    "calls.FONT_KEYWORDS": calls.FONT_KEYWORDS,
    "calls.PRINT_KEYWORDS": calls.PRINT_KEYWORDS,
    "calls.WITH_ITEMS": calls.WITH_ITEMS,
    "calls.EXPORT_FUNCTIONS": calls.EXPORT_FUNCTIONS,
    "calls.EXPORT_METHODS": calls.EXPORT_METHODS,
    "calls.EXPORT_MODULES": calls.EXPORT_MODULES,
    "calls.EXPORT_CLASSES": calls.EXPORT_CLASSES,
    "calls.EXPORT_WORDS": calls.EXPORT_WORDS,
    "calls.INPUT_METHODS": calls.INPUT_METHODS,
    "calls.INPUT_MODULES": calls.INPUT_MODULES,
    "viewers.ERASED_MODULES": viewers.ERASED_MODULES,
    "viewers.METADATA": viewers.METADATA,
    "viewers.WORDS": viewers.WORDS,
    "viewers.RESULT_CALLS": viewers.RESULT_CALLS,
    "viewers.RESULT_KEYWORDS": viewers.RESULT_KEYWORDS,
    "imports.STARS": imports.STARS,
    "imports.HINTS": imports.HINTS,
    "imports.NAME_HINTS": imports.NAME_HINTS,
    **{f"imports.{module}": table for module, table in {**imports.CAD, **imports.PURE}.items()},
}


def node_classes() -> set[str]:
    """Every AST node class of the Python that runs this."""
    return {name for name, value in vars(ast).items() if isinstance(value, type) and issubclass(value, ast.AST)}


def test_every_node_class_of_this_python_was_reviewed() -> None:
    tables = [set(nodes.ADMITTED), set(nodes.REFUSED), set(nodes.ABSTRACT)]
    assert node_classes() <= set().union(*tables), "a new Python: look at the new node classes, then list them"
    assert not tables[0] & tables[1]
    assert not tables[0] & tables[2]
    assert not tables[1] & tables[2]


def test_an_unknown_node_class_would_be_noticed() -> None:
    listed = set(nodes.ADMITTED) | set(nodes.REFUSED) | set(nodes.ABSTRACT)
    assert node_classes() - (listed - {"Match"}) == {"Match"}


@pytest.mark.parametrize("name", sorted(TABLES))
def test_every_entry_has_a_reason(name: str) -> None:
    for entry, reason in TABLES[name].items():
        assert isinstance(entry, str)
        assert entry.strip()
        assert isinstance(reason, str)
        assert reason.strip(), f"{name}: {entry} has no reason"


def test_the_minimal_list_is_the_literal_one() -> None:
    statements = {name for name in nodes.MINIMAL if issubclass(getattr(ast, name), ast.stmt)}
    assert statements == {"Import", "ImportFrom", "Assign", "Expr", "FunctionDef", "Return", "For", "If"}
    expressions = {name for name in nodes.MINIMAL if issubclass(getattr(ast, name), ast.expr)}
    assert expressions == {"BinOp", "Call", "Name", "Constant", "Attribute"}
    assert set(nodes.MINIMAL) <= set(nodes.ADMITTED)
    assert {module.partition(".")[0] for module in MINIMAL.module_names} == {"cadquery", "build123d", "math", "numpy"}


def test_allowed_and_denied_attributes_do_not_meet() -> None:
    assert not set(attributes.ALLOWED) & set(denied_attributes.DENIED)
    assert set(denied_attributes.OWN_WORDS) <= set(denied_attributes.DENIED)
    assert set(stores.STORABLE) <= set(attributes.ALLOWED) | {"forConstruction"}


def test_no_allowed_name_is_private_or_a_keyword() -> None:
    modules = [name for table in CAD.modules.values() for name in table]
    for name in [*attributes.ALLOWED, *modules, *builtins.ADMITTED]:
        assert name.isidentifier()
        assert not name.startswith("_")
        assert not keyword.iskeyword(name)


FORBIDDEN = (
    "os sys io subprocess requests logging ezdxf tempfile webbrowser json ctypes re exporters importers Mesher "
    "ExportSVG FontManager export_step import_step load save memmap ctypeslib testing f2py lib core utils plugins "
    "occ_impl cqgi vis setThreads version get_include genfromtxt frombuffer vectorize frompyfunc SystemRandom"
)


@pytest.mark.parametrize("name", FORBIDDEN.split())
def test_no_module_table_has_what_reaches_files_memory_or_code(name: str) -> None:
    assert all(name not in table for table in CAD.modules.values())
    assert name not in attributes.ALLOWED


def test_every_builtin_of_this_python_was_reviewed() -> None:
    listed = set(builtins.ADMITTED) | set(builtins.EXCEPTIONS) | set(builtins.REFUSED) | set(builtins.SHADOWABLE)
    exceptions = {
        name
        for name, value in vars(python_builtins).items()
        if isinstance(value, type) and issubclass(value, BaseException)
    }
    rest = {name for name in vars(python_builtins) if not name.startswith("_")} - listed - exceptions
    assert rest <= {"True", "False", "None", "PythonFinalizationError"}
    # What catches more than Exception would catch the end of the script.
    beyond = {name for name in exceptions if not issubclass(getattr(python_builtins, name), Exception)}
    assert beyond - set(builtins.REFUSED) == {"SystemExit"}  # which ends it by itself
    assert not set(builtins.ADMITTED) & set(builtins.REFUSED)
    assert not set(builtins.ADMITTED) & set(builtins.SHADOWABLE)


def test_math_is_whole() -> None:
    assert {name for name in dir(math) if not name.startswith("_")} <= CAD.module_names["math"] | {"exp2", "cbrt"}


def test_rules_are_found_by_name() -> None:
    assert rules_named("cad") is CAD
    assert rules_named("cad-minimal") is MINIMAL
    with pytest.raises(KeyError):
        rules_named("none")


def test_rules_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        CAD.attributes["tofile"] = "no"  # type: ignore[index]
    with pytest.raises(TypeError):
        CAD.module_names["os"] = frozenset({"system"})  # type: ignore[index]
    with pytest.raises(AttributeError):
        CAD.nodes = {}  # type: ignore[misc]
