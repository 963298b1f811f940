"""Expressions that are rewritten before the check: the main guard, a probe for show_object, str.format, inputs."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from . import formats, injected
from .imports import Imports
from .rules import Rules
from .tables import builtins, calls
from .verdict import Findings

#: names that an editor or an interpreter gives to the script that it runs
_MAIN_NAMES = {"__main__", "__cq_main__", "temp", "builtins"}
_NAMESPACES = {"globals", "locals", "dir", "vars"}

Edge = tuple[ast.AST, str, int, ast.expr]


def edges(tree: ast.AST) -> Iterator[Edge]:
    """Every expression with the place that holds it: parent, field, index (-1 if the field is not a list)."""
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        for field in node._fields:
            value = getattr(node, field, None)
            if value.__class__ is list:
                for index, item in enumerate(value):
                    if isinstance(item, ast.expr):
                        yield node, field, index, item
                    if isinstance(item, ast.AST):
                        stack.append(item)
            elif isinstance(value, ast.expr):
                yield node, field, -1, value
                stack.append(value)
            elif isinstance(value, ast.arguments):
                stack.append(value)


def substitute(tree: ast.AST, change: Callable[[ast.expr], ast.expr]) -> None:
    """Replace expressions in place, inner ones before outer ones, without recursion."""
    for parent, field, index, node in reversed(list(edges(tree))):
        new = change(node)
        if new is node:
            continue
        injected.placed(new, node)
        if index < 0:
            setattr(parent, field, new)
        else:
            getattr(parent, field)[index] = new


class Expressions:
    """Rewrites the expressions of one script."""

    def __init__(self, rules: Rules, imports: Imports, inputs: frozenset[str], findings: Findings) -> None:
        self._fstrings = "JoinedStr" in rules.nodes
        self._imports = imports
        self._inputs = inputs
        self._findings = findings

    def rewrite(self, tree: ast.Module) -> None:
        """Rewrite the tree in place."""
        substitute(tree, self._expression)

    def _expression(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return self._comparison(node)
        if isinstance(node, ast.Call):
            text = formats.as_fstring(node) if self._fstrings else None
            return self._input(node) if text is None else text
        return node

    def _comparison(self, node: ast.Compare) -> ast.expr:
        left, operator, right = node.left, node.ops[0], node.comparators[0]
        if isinstance(right, ast.Name) and right.id == "__name__":
            left, right = right, left
        if isinstance(left, ast.Name) and left.id == "__name__":
            values = right.elts if isinstance(right, ast.Tuple | ast.List | ast.Set) else [right]
            names = {value.value if isinstance(value, ast.Constant) else None for value in values}
            if isinstance(operator, ast.Eq | ast.In) and names and names <= _MAIN_NAMES:
                return ast.Constant(True)
            return node
        probed = left.value if isinstance(left, ast.Constant) and self._namespace(right) else None
        if isinstance(operator, ast.In | ast.NotIn) and isinstance(probed, str) and probed in builtins.INJECTED:
            return ast.Constant(isinstance(operator, ast.In))
        return node

    def _namespace(self, node: ast.expr) -> bool:
        """True for `globals()` and the like, which scripts ask whether they run in an editor."""
        return (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in _NAMESPACES
            and node.func.id not in self._imports.bound
            and not node.args
            and not node.keywords
        )

    def _input(self, call: ast.Call) -> ast.expr:
        function = self._imports.dotted(call.func)
        receiver: list[ast.expr] = []
        words = calls.INPUT_FUNCTIONS.get(function)
        if words is None:
            if not isinstance(call.func, ast.Attribute) or call.func.attr not in calls.INPUT_METHODS:
                return call
            function, words = calls.INPUT_METHODS[call.func.attr], ("filename",)
            receiver = [call.func.value]
        named = [keyword for keyword in call.keywords if keyword.arg in words]
        first = call.args[0] if call.args else named[0].value if named else None
        if isinstance(first, ast.Constant) and isinstance(first.value, str) and first.value in self._inputs:
            kept = [keyword for keyword in call.keywords if call.args or keyword.arg not in words]
            arguments = [ast.Constant(function), ast.Constant(first.value), *receiver, *call.args[1:]]
            return ast.Call(func=injected.load(injected.INPUT), args=arguments, keywords=kept)
        given = ", ".join(f'"{name}"' for name in sorted(self._inputs)[:5])
        hint = f"give it the literal name of a given input: {given}" if given else "no inputs were given to this job"
        message = f"`{function}` may only read a given input"
        self._findings.deny("call.input", call, message, name=function, hint=hint)
        return ast.Constant(None)
