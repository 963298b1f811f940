"""A small guest for tests: runs an admitted tree with the standard library in place of the CAD libraries."""

from __future__ import annotations

import ast
import builtins
import contextlib
import importlib
import io
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from casemate.gate import EXPORT, IMPORT, INPUT, STAR, Admitted, Denied, Rules, check, rules_named

CAD = rules_named("cad")
MINIMAL = rules_named("cad-minimal")


def codes(verdict: Admitted | Denied) -> list[str]:
    """The codes of all denials in order; none if admitted."""
    return [] if isinstance(verdict, Admitted) else [denial.code for denial in verdict.denials]


def judge(source: str, rules: Rules = CAD, inputs: frozenset[str] = frozenset()) -> Admitted | Denied:
    """Check a text."""
    return check(source.encode(), rules, inputs)


def admit(source: str, rules: Rules = CAD, inputs: frozenset[str] = frozenset()) -> Admitted:
    """Check a text that must be admitted."""
    verdict = judge(source, rules, inputs)
    assert isinstance(verdict, Admitted), verdict
    return verdict


def text(source: str, rules: Rules = CAD, inputs: frozenset[str] = frozenset()) -> str:
    """The admitted tree as text."""
    return ast.unparse(admit(source, rules, inputs).tree)


class Ran:
    """What a script printed, exported and left."""

    def __init__(self) -> None:
        self.printed: list[str] = []
        self.exported: list[Any] = []
        self.shown: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
        self.variables: dict[str, Any] = {}

    def print(self, *values: Any, sep: str = " ", **_: Any) -> None:
        self.printed.append(sep.join(map(str, values)))


def run(verdict: Admitted, rules: Rules = CAD, modules: Mapping[str, Any] | None = None) -> Ran:
    """Run an admitted tree with the permitted names and nothing else."""
    ran = Ran()

    def take(module: str, *names: str) -> Any:
        if modules and module in modules:
            return modules[module]
        found = importlib.import_module(module)
        permitted = {name: getattr(found, name) for name in rules.module_names[module] if hasattr(found, name)}
        return permitted[names[0]] if names else SimpleNamespace(**permitted)

    def star(module: str) -> None:
        ran.variables.update(vars(take(module)))

    def export(value: Any) -> Any:
        ran.exported.append(value)
        return value

    def show(*values: Any, **keywords: Any) -> None:
        ran.shown.append((values, keywords))

    permitted = {name: getattr(builtins, name) for name in rules.builtins if hasattr(builtins, name)}
    injected: dict[str, Any] = dict.fromkeys(rules.injected, show)
    injected |= {IMPORT: take, STAR: star, EXPORT: export, INPUT: lambda *a, **k: (a, k)}
    injected |= {"print": ran.print, "__build_class__": builtins.__build_class__}
    ran.variables = {"__name__": "__main__", "__builtins__": {**permitted, **injected}}
    exec(compile(verdict.tree, "<script>", "exec", dont_inherit=True), ran.variables)
    return ran


def run_plain(source: str) -> Ran:
    """Run a text with no gate at all."""
    ran = Ran()
    ran.variables = {"__name__": "__main__"}
    with contextlib.redirect_stdout(io.StringIO()) as output:
        exec(compile(source, "<script>", "exec", dont_inherit=True), ran.variables)
    ran.printed = output.getvalue().splitlines()
    return ran
