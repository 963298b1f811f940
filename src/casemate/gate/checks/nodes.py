"""Node classes, decorators, and the constants that are refused by their type."""

from __future__ import annotations

import ast

from ..context import Context, last_name
from ..scopes import Place
from ..tables import nodes

_DECORATOR_HINTS = {
    "dataclass": "write a plain class with __init__",
    "property": "write a plain method and call it",
    "staticmethod": "write a plain function",
    "classmethod": "write a plain function",
}


def check(place: Place, context: Context) -> None:
    """Refuse a node whose class is not in the table."""
    node = place.node
    if type(node).__name__ not in context.rules.nodes:
        said = isinstance(node, ast.pattern | ast.match_case) and "Match" not in context.rules.nodes
        if not said:
            _class(node, node, context)
    elif isinstance(node, ast.BinOp | ast.UnaryOp | ast.BoolOp | ast.AugAssign):
        _class(node.op, node, context)
    elif isinstance(node, ast.Compare):
        for operator in node.ops:
            _class(operator, node, context)
    elif isinstance(node, ast.Constant):
        _constant(node, context)
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        for decorator in node.decorator_list:
            _decorator(decorator, context)


def _class(node: ast.AST, where: ast.AST, context: Context) -> None:
    kind = "Name" if isinstance(node, ast.Name) else type(node).__name__
    if kind not in context.rules.nodes:
        hint = nodes.REFUSED.get(kind, "")
        message = f"{kind} is not part of what a script may use"
        context.findings.deny(f"node.{kind}", where, message, name=kind, hint=hint)


def _constant(node: ast.Constant, context: Context) -> None:
    kind = type(node.value).__name__
    if kind in nodes.CONSTANTS_REFUSED:
        message = f"a constant of type {kind} is not part of what a script may use"
        context.findings.deny("node.Constant", node, message, name=kind, hint=nodes.CONSTANTS_REFUSED[kind])


def _decorator(decorator: ast.expr, context: Context) -> None:
    inner = decorator.func if isinstance(decorator, ast.Call) else decorator
    name = last_name(inner)
    hint = _DECORATOR_HINTS.get(name, "call the function in a statement of its own")
    context.findings.deny("node.decorator", decorator, "decorators are refused", name=name, hint=hint)
