"""Attributes that only the script defines get names that no library object has.

`self._wall` becomes `self.__own__wall__` everywhere in the script. So a script may call its own attributes what it
likes (but what is refused), and cannot bless a name of the library by defining it: `x.__own__sys__` finds nothing on a
module. Names that the libraries' values have too stay as they are; whoever sets one of those reads `__own_class__`
from the object first, which only objects of the script's classes have.
"""

from __future__ import annotations

import ast

from . import injected
from .context import Context
from .scopes import Kind, Place
from .statements import set_body, statement_lists


def rename(tree: ast.Module, context: Context) -> None:
    """Rewrite the tree in place."""
    renamed = {name for name in context.own if name not in context.rules.attributes}
    guarded: dict[int, tuple[ast.FunctionDef, str]] = {}
    probed: dict[int, str] = {}
    aliases: dict[int, list[str]] = {}
    for place in context.script.places:
        node = place.node
        if place.discarded:
            continue
        if place.scope.kind is Kind.CLASS:
            _class_name(place, renamed, aliases)
        if not isinstance(node, ast.Attribute):
            continue
        if node.attr in renamed and not context.rooted_in_module(node):
            node.attr = injected.own_attribute(node.attr)
        elif isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name):
            scope = place.scope.resolve(node.value.id)
            if scope is not None and scope.receiver == node.value.id and isinstance(scope.node, ast.FunctionDef):
                guarded[id(scope.node)] = (scope.node, scope.receiver)
            elif node.attr not in context.rules.storable and not context.own_object(node.value, place):
                probed[id(place.parent_node)] = node.value.id
    for function, receiver in guarded.values():
        _guard(function, receiver)
    _write(tree, aliases, probed)


def _class_name(place: Place, renamed: set[str], aliases: dict[int, list[str]]) -> None:
    """Note a name that a class body binds, under the statement after which it is bound."""
    node = place.node
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        name = node.name
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        name = node.id
    else:
        return
    statement: Place | None = place
    while statement is not None and not isinstance(statement.node, ast.stmt):
        statement = statement.parent
    if name in renamed and statement is not None:
        aliases.setdefault(id(statement.node), []).append(name)


def _probe(name: str, like: ast.AST) -> ast.stmt:
    asked = ast.Attribute(value=injected.load(name), attr=injected.OWN_CLASS, ctx=ast.Load())
    return injected.placed(ast.Expr(value=asked), like)


def _guard(function: ast.FunctionDef, receiver: str) -> None:
    first = function.body[0]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    function.body.insert(1 if documented else 0, _probe(receiver, function))


def _write(tree: ast.Module, aliases: dict[int, list[str]], probed: dict[int, str]) -> None:
    for node, field, body in statement_lists(tree):
        made: list[ast.stmt] = []
        if isinstance(node, ast.ClassDef):
            made.append(injected.placed(injected.binding(injected.OWN_CLASS, ast.Constant(True)), node))
        if field == "body" and isinstance(node, ast.For | ast.With):
            made += _bindings(node, aliases)
        for statement in body:
            if id(statement) in probed:
                made.append(_probe(probed[id(statement)], statement))
            made.append(statement)
            if not isinstance(statement, ast.For | ast.With):
                made += _bindings(statement, aliases)
        set_body(node, field, body, made)


def _bindings(node: ast.AST, aliases: dict[int, list[str]]) -> list[ast.stmt]:
    """`__own_x__ = x` for the names that a statement of a class body binds; in a loop, first thing in its body."""
    return [
        injected.placed(injected.binding(injected.own_attribute(name), injected.load(name)), node)
        for name in aliases.get(id(node), [])
    ]
