"""What a script's globals hold, and what it gives away by showing and exporting."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Any

import pytest

from casemate.guest import inputs, namespace
from casemate.guest.inputs import Inputs
from casemate.guest.namespace import Namespace
from casemate.guest.proxies import Library
from casemate.guest.results import Shown
from casemate.guest.script import execute

PERMITTED = frozenset({"len", "print", "ValueError"})


@pytest.fixture
def names(tmp_path: Path) -> Namespace:
    library = Library({"math": frozenset({"pi", "sqrt"})})
    permitted = namespace.permitted_builtins(PERMITTED)
    return Namespace(permitted, library, Inputs(str(tmp_path), ("a.txt",)))


def run(names: Namespace, source: str) -> Any:
    return execute(ast.parse(source), names.variables)


def test_only_the_permitted_builtins_are_there(names: Namespace) -> None:
    assert run(names, "len('ab')") == 2
    for name in ("open", "eval", "__import__", "getattr", "globals", "BaseException"):
        with pytest.raises(NameError):
            run(names, name)
    with pytest.raises(ImportError):
        run(names, "import math")


def test_classes_can_be_defined(names: Namespace) -> None:
    assert run(names, "class A:\n    x = 3\nA().x") == 3
    assert names.variables["A"].__module__ == "__main__"


def test_imports_bind_proxies(names: Namespace) -> None:
    assert run(names, "m = __casemate_import__('math')\nm.sqrt(4)") == 2
    assert run(names, "__casemate_import__('math', 'pi') > 3") is True
    assert run(names, "__casemate_star__('math')\nsqrt(9)") == 3
    with pytest.raises(ImportError):
        run(names, "__casemate_import__('os')")


def test_the_last_line_gives_its_value_and_statements_give_none(names: Namespace) -> None:
    assert run(names, "x = 1\nx + 1") == 2
    assert run(names, "x = 1") is None
    assert run(names, "") is None
    assert run(names, "'text'") == "text"


def test_lines_of_the_last_expression_are_kept(names: Namespace) -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        run(names, "x = 0\n\n\n1 / x")
    assert caught.traceback[-1].lineno == 3


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("show_object(a)", [("a", False)]),
        ("show_object(a, 'lid')", [("lid", False)]),
        ("show_object(a, name='lid', options={'name': 'no', 'alpha': 0.5})", [("lid", False)]),
        ("show_object(a, options={'name': 'lid'})", [("lid", False)]),
        ("show(a, b)", [("a", False), ("b", False)]),
        ("show(a, b, names=['x', 'y'], colors=['red', 'blue'])", [("x", False), ("y", False)]),
        ("show(a, b, names=['x'])", [("x", False), ("b", False)]),
        ("show_object([1, 2])", [("", False)]),
        ("debug(a, name='d')", [("d", True)]),
        ("show_object()", []),
        ("show_object(a, name=7)", [("a", False)]),
    ],
)
def test_what_is_shown_has_a_name(names: Namespace, call: str, expected: list[tuple[str, bool]]) -> None:
    run(names, f"a = [1]\nb = [2]\n{call}")
    assert [(shown.name, shown.debug) for shown in names.shown] == expected


def test_a_name_is_that_of_the_moment(names: Namespace) -> None:
    run(names, "a = [1]\nshow_object(a)\nb = a\na = None")
    assert names.shown == [Shown([1], "a")]


def test_an_export_is_noted_and_gives_its_object_back(names: Namespace) -> None:
    assert run(names, "a = [1]\n__casemate_export__(a)") == [1]
    assert names.exported == [Shown([1], "a")]


def test_leaving(names: Namespace) -> None:
    for call, code in (("exit()", None), ("quit(3)", 3), ("exit('bye')", "bye")):
        with pytest.raises(SystemExit) as caught:
            run(names, call)
        assert caught.value.code == code


def test_log_prints(names: Namespace, capsys: pytest.CaptureFixture[str]) -> None:
    run(names, "log('width', 3)")
    assert capsys.readouterr().out == "width 3\n"


def test_a_given_input_is_read_by_the_named_reader(names: Namespace, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("[1, 2]")
    assert inputs.reader("os.path.getsize") is not None
    assert run(names, "__casemate_input__('os.path.getsize', 'a.txt')") == 6
    for name in ("b.txt", "../a.txt", str(tmp_path / "a.txt")):
        with pytest.raises(FileNotFoundError, match="not one of the files"):
            run(names, f"__casemate_input__('os.path.getsize', {name!r})")


class Broken:
    """A stream that fails in every way."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def flush(self) -> None:
        raise self.error


@pytest.mark.parametrize(
    "error", [ValueError("closed"), OSError(32, "broken pipe"), SystemExit(3), KeyboardInterrupt()]
)
def test_flushing_never_fails(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    monkeypatch.setattr(sys, "stdout", Broken(error))
    monkeypatch.setattr(sys, "stderr", None)
    namespace.flush()
