"""Nodes that the gate writes into a script's tree.

A script cannot spell the names in them (names that start with two underscores are refused), and the rules can tell the
nodes from the script's own by their class. They become plain names when the check is over.
"""

from __future__ import annotations

import ast
from typing import TypeVar

#: `__casemate_import__(module[, name])` gives the proxy of a module, or one permitted name of it
IMPORT = "__casemate_import__"
#: `__casemate_star__(module)` binds all permitted names of a module in the script's globals
STAR = "__casemate_star__"
#: `__casemate_export__(x)` notes x as a candidate and gives it back
EXPORT = "__casemate_export__"
#: `__casemate_input__(function, name, *rest, **keywords)` calls the reader of that dotted name on a given input
INPUT = "__casemate_input__"
#: set in every class of the script; a method that sets attributes reads it first from the object that it was given
OWN_CLASS = "__own_class__"

NodeT = TypeVar("NodeT", bound=ast.AST)


class Injected(ast.Name):
    """A name that the gate wrote."""


def own_attribute(name: str) -> str:
    """The name under which an attribute that only the script defines is kept, so that no library object can have it."""
    return f"__own_{name}__"


def placed(node: NodeT, like: ast.AST) -> NodeT:
    """The node with the place of another, in all its new parts; a part that has a place has one throughout."""
    stack: list[ast.AST] = [node]
    while stack:
        part = stack.pop()
        if "lineno" in part._attributes:
            if hasattr(part, "lineno"):
                continue
            ast.copy_location(part, like)
        stack += ast.iter_child_nodes(part)
    return node


def load(name: str) -> Injected:
    """A name of the gate's, read."""
    return Injected(id=name, ctx=ast.Load())


def call(name: str, *arguments: ast.expr) -> ast.Call:
    """A call of a function that the guest injects."""
    return ast.Call(func=load(name), args=list(arguments), keywords=[])


def binding(name: str, value: ast.expr) -> ast.Assign:
    """`name = value`, written by the gate."""
    return ast.Assign(targets=[Injected(id=name, ctx=ast.Store())], value=value)
