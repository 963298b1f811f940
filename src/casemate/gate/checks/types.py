"""Classes that may be asked for and neither called nor handed on."""

from __future__ import annotations

import ast

from ..context import Context
from ..scopes import Place
from ..tables import calls


def check(node: ast.expr, dotted: str, place: Place, context: Context) -> None:
    """Some classes may be asked for and nothing else."""
    if dotted not in calls.TYPES_ONLY or place.discarded:
        return
    asked = place
    if asked.parent is not None and isinstance(asked.parent.node, ast.Tuple):
        asked = asked.parent
    call = asked.parent_node
    if (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id == "isinstance"
        and place.scope.resolve("isinstance") is None
        and asked.field == "args"
        and asked.index == 1
    ):
        return
    message = f"`{dotted}` may only be the second argument of isinstance: {calls.TYPES_ONLY[dotted]}"
    name = dotted.partition(".")[2]
    context.findings.deny("call.type", node, message, name=name, hint="make an array with numpy.array or numpy.zeros")
