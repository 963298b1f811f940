"""Stores: attributes are set on the script's own objects only, and nothing imported is changed."""

from __future__ import annotations

import ast

from ..context import Context
from ..scopes import Place

_HINT = "keep the value in a variable, a dict, or an attribute of a class of your own"


def guardable(place: Place, context: Context) -> bool:
    """True for the statement `name.attr = value` if a class of the script defines attr: the object can be asked first.

    One target only, so that the name cannot come to mean another object between the question and the store.
    """
    node, statement = place.node, place.parent_node
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name) or node.attr not in context.own:
        return False
    single = isinstance(statement, ast.Assign) and len(statement.targets) == 1
    return single or isinstance(statement, ast.AugAssign)


def check(place: Place, context: Context) -> None:
    """Check the target of an assignment that is not a plain name."""
    node = place.node
    if not isinstance(node, ast.Attribute | ast.Subscript) or not isinstance(node.ctx, ast.Store):
        return
    root = context.imported_root(node.value, place)
    if root:
        message = f"`{root}` is imported: it may be used, not changed"
        context.findings.deny("store.imported", node, message, name=root, hint=_HINT)
    elif isinstance(node, ast.Attribute) and not context.was_said(node):
        own = node.attr in context.rules.storable or context.own_object(node.value, place)
        if not own and not guardable(place, context):
            message = f"`.{node.attr}` may only be set on an object of a class of the script"
            context.findings.deny("store.attribute", node, message, name=node.attr, hint=_HINT)
