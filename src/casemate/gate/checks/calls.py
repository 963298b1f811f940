"""Calls: who is called, and the arguments that would open files or hide their names."""

from __future__ import annotations

import ast
import re

from ..context import Context, last_name
from ..injected import Injected
from ..scopes import Place
from ..tables import calls
from . import names

_DTYPES = re.compile(calls.DTYPES)


def check(place: Place, context: Context) -> None:
    """Check a call."""
    node = place.node
    if not isinstance(node, ast.Call):
        return
    if not isinstance(node.func, ast.Name | ast.Attribute):
        message = "only a name or an attribute may be called"
        hint = "give the function a name first: f = ...; f(x)"
        context.findings.deny("call.callee", node, message, name=type(node.func).__name__, hint=hint)
    for keyword in node.keywords:
        if keyword.arg is None:
            _unpacked(keyword, place, context)
        else:
            _font(keyword, keyword.arg, context)
            _dtype(keyword.value, keyword.arg, context)
            _print(node, place, keyword, keyword.arg, context)
    if not isinstance(node.func, Injected):
        _font_position(node, context)
        _dtype_position(node, context)


def _unpacked(keyword: ast.keyword, place: Place, context: Context) -> None:
    """`**` takes a literal dict, or a name that stands for nothing but one; its keys are checked like keywords."""
    literal = keyword.value if isinstance(keyword.value, ast.Dict) else _literal_behind(keyword.value, place, context)
    if literal is None:
        message = "`**` may only unpack a dict that is written out"
        hint = "write the arguments by name"
        context.findings.deny("call.unpack", keyword.value, message, name="**", hint=hint)
        return
    call = place.node
    mark = (id(literal), isinstance(call, ast.Call) and _is_print(call, place))
    if mark in context.unpacked:
        return
    context.unpacked.add(mark)
    for key, value in zip(literal.keys, literal.values, strict=True):
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            names.keyword(key, key.value, context)
            _font(key, key.value, context)
            _dtype(value, key.value, context)
            if isinstance(call, ast.Call):
                _print(call, place, key, key.value, context)
        else:
            message = "a dict that is unpacked with `**` has keys that are texts, written out"
            hint = "write the arguments by name"
            context.findings.deny("call.unpack", key or keyword.value, message, name="**", hint=hint)


def _literal_behind(node: ast.expr, place: Place, context: Context) -> ast.Dict | None:
    """The dict that a name stands for, if it is bound once, to a literal, and only ever unpacked or read by key."""
    if not isinstance(node, ast.Name):
        return None
    scope = place.scope.resolve(node.id)
    bindings = scope.names[node.id] if scope is not None else []
    if len(bindings) != 1 or not isinstance(bindings[0].value, ast.Dict):
        return None
    if node.id not in context.literals:
        context.literals[node.id] = all(_only_read(other) for other in context.script.loads[node.id])
    return bindings[0].value if context.literals[node.id] else None


def _only_read(place: Place) -> bool:
    """True if this load of a dict's name cannot change the dict."""
    holder = place.parent_node
    if isinstance(holder, ast.keyword):
        return holder.arg is None
    return isinstance(holder, ast.Subscript) and isinstance(holder.ctx, ast.Load) and place.field == "value"


def _font(node: ast.AST, name: str, context: Context) -> None:
    if name in calls.FONT_KEYWORDS:
        message = f"`{name}` opens a file"
        context.findings.deny("call.font", node, message, name=name, hint=calls.FONT_KEYWORDS[name])


def _font_position(node: ast.Call, context: Context) -> None:
    """The font path can also be given by position."""
    name = context.imports.dotted(node.func).rpartition(".")[2] or last_name(node.func)
    limit = calls.FONT_POSITIONS.get(name)
    if limit is None:
        return
    free = context.imports.dotted(node.func) or next((f"{s}.{name}" for s in context.imports.stars), "")
    if name == "text" and free == calls.FREE_TEXT:
        limit = _free_text(node)
        for keyword in node.keywords:
            if keyword.arg == "path":
                hint = "name the font with font="
                context.findings.deny("call.font", keyword, "`path` opens a font file", name="path", hint=hint)
    if len(node.args) > limit or any(isinstance(argument, ast.Starred) for argument in node.args):
        message = f"this argument of `{name}` may be the path of a font file"
        hint = f"give at most {limit} arguments by position, none with `*`, and the others by name"
        context.findings.deny("call.font", node.args[min(limit, len(node.args) - 1)], message, name=name, hint=hint)


def _free_text(node: ast.Call) -> int:
    """text(txt, size, font, path) opens a file by its fourth, text(txt, size, spine, base, font, path) by its sixth."""
    spine = len(node.args) > 3 and not any(
        (isinstance(argument, ast.Constant) and isinstance(argument.value, str)) or isinstance(argument, ast.JoinedStr)
        for argument in node.args[2:4]
    )
    return 5 if spine else 3


def _dtype(node: ast.expr, name: str, context: Context) -> None:
    """What an array holds is written as a type of numbers; "O" and records say what memory means."""
    if name != "dtype" or isinstance(node, ast.Name | ast.Attribute):
        return
    value = node.value if isinstance(node, ast.Constant) else 0
    if value is not None and not (isinstance(value, str) and _DTYPES.fullmatch(value)):
        message = "a dtype is a type of numbers"
        hint = "give dtype=float, dtype=int or dtype=numpy.float64"
        context.findings.deny("call.dtype", node, message, name="dtype", hint=hint)


def _dtype_position(node: ast.Call, context: Context) -> None:
    """The dtype can also be given by position."""
    position = calls.DTYPE_POSITIONS.get(context.imports.dotted(node.func)) if node.args else None
    if position is None and isinstance(node.func, ast.Attribute) and node.func.attr == "astype":
        position = 0
    if position is not None and len(node.args) > position:
        given = node.args[position]
        if not isinstance(given, ast.Starred):
            _dtype(given, "dtype", context)


def _print(call: ast.Call, place: Place, where: ast.AST, name: str, context: Context) -> None:
    """print writes to the job's output and nowhere else."""
    if _is_print(call, place) and name not in calls.PRINT_KEYWORDS:
        message = f"`{name}` is not an argument of print that a script may give"
        context.findings.deny("call.print", where, message, name=name, hint="print writes to the job's output")


def _is_print(call: ast.Call, place: Place) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == "print" and place.scope.resolve("print") is None
