"""`"{:.2f} mm".format(x)` becomes the f-string that says the same, if its fields name arguments and nothing else.

str.format reads any attribute that its text names, so the method itself is refused.
"""

from __future__ import annotations

import ast
import re
import string

_FIELD = re.compile(r"(?:\d{0,3}|[A-Za-z]\w*)", re.ASCII)


def as_fstring(call: ast.Call) -> ast.JoinedStr | None:
    """The f-string for a call of format on a literal text, or None if there is none that means the same."""
    func = call.func
    if not (isinstance(func, ast.Attribute) and func.attr == "format" and isinstance(func.value, ast.Constant)):
        return None
    text = func.value.value
    if not isinstance(text, str) or any(isinstance(argument, ast.Starred) for argument in call.args):
        return None
    arguments: dict[str, ast.expr] = {str(index): argument for index, argument in enumerate(call.args)}
    for keyword in call.keywords:
        if keyword.arg is None:
            return None
        arguments[keyword.arg] = keyword.value
    try:
        fields = list(string.Formatter().parse(text))
    except ValueError:
        return None
    names = _names([field for _, field, _, _ in fields if field is not None])
    if names is None or not _same_order(names, arguments):
        return None
    values: list[ast.expr] = []
    following = iter(names)
    for literal, field, spec, conversion in fields:
        if literal:
            values.append(ast.Constant(literal))
        if field is None:
            continue
        if "{" in (spec or ""):
            return None
        how = ast.JoinedStr(values=[ast.Constant(spec)]) if spec else None
        value, shown = _copy(arguments[next(following)]), ord(conversion) if conversion else -1
        values.append(ast.FormattedValue(value=value, conversion=shown, format_spec=how))
    return ast.JoinedStr(values=values)


def _names(fields: list[str]) -> list[str] | None:
    """The argument that each field names; None if one names more than that, or numbers and none are mixed."""
    if any(_FIELD.fullmatch(field) is None for field in fields):
        return None
    counted = [field for field in fields if field == ""]
    numbered = [field for field in fields if field.isdigit()]
    if counted and numbered:
        return None
    index = 0
    names: list[str] = []
    for field in fields:
        names.append(field if field else str(index))
        index += field == ""
    return [str(int(name)) if name.isdigit() else name for name in names]


def _same_order(names: list[str], arguments: dict[str, ast.expr]) -> bool:
    """True if the f-string evaluates what the call does: each argument once and in order, or nothing but names."""
    if any(name not in arguments for name in names):
        return False
    plain = all(isinstance(argument, ast.Name | ast.Constant) for argument in arguments.values())
    return plain or names == list(arguments)


def _copy(node: ast.expr) -> ast.expr:
    """A node of its own, so that no node stands in the tree twice."""
    if isinstance(node, ast.Name):
        return ast.copy_location(ast.Name(id=node.id, ctx=ast.Load()), node)
    if isinstance(node, ast.Constant):
        return ast.copy_location(ast.Constant(node.value), node)
    return node
