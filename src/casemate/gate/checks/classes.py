"""Classes and the statements that take something special: with, except."""

from __future__ import annotations

import ast

from ..context import Context, last_name
from ..injected import Injected
from ..scopes import Place
from ..tables import builtins, calls


def check(place: Place, context: Context) -> None:
    """Check a class definition, an item of with, or the type of an except."""
    node = place.node
    if isinstance(node, ast.ClassDef):
        _class(node, place, context)
    elif isinstance(node, ast.withitem):
        _with(node.context_expr, place, context)
    elif isinstance(node, ast.ExceptHandler) and node.type is not None:
        types = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
        for kind in types:
            _exception(kind, place, context)


def _class(node: ast.ClassDef, place: Place, context: Context) -> None:
    for base in node.bases:
        if not context.own_class(base) and not _standard_exception(base, place):
            message = "a class may only be derived from classes of the script and from standard exceptions"
            hint = "keep the library's object in an attribute: self.part = ..."
            context.findings.deny("class.base", base, message, name=last_name(base), hint=hint)
    for keyword in node.keywords:
        name = keyword.arg or "**"
        message = "a class takes no keyword arguments, no metaclass among them"
        context.findings.deny("class.keyword", keyword, message, name=name, hint="leave it out")


def _with(item: ast.expr, place: Place, context: Context) -> None:
    if not isinstance(item, ast.Call):
        return
    name = last_name(item.func)
    own = isinstance(item.func, ast.Name) and place.scope.resolve(name) is not None
    if name not in calls.WITH_ITEMS and not (own and name not in context.imports.names):
        message = f"`with {name}(...)` is not one of build123d's builders and locations"
        hint = f"permitted are {', '.join(calls.WITH_ITEMS)}"
        context.findings.deny("with.item", item, message, name=name, hint=hint)


def _exception(kind: ast.expr, place: Place, context: Context) -> None:
    if isinstance(kind, Injected) or _standard_exception(kind, place) or context.own_class(kind):
        return
    name = last_name(kind)
    if name in context.rules.refused_builtins:
        return  # the rule for names says why
    message = "except takes standard exceptions and classes of the script"
    context.findings.deny("except.type", kind, message, name=name, hint="write `except Exception`")


def _standard_exception(node: ast.expr, place: Place) -> bool:
    return isinstance(node, ast.Name) and node.id in builtins.EXCEPTIONS and place.scope.resolve(node.id) is None
