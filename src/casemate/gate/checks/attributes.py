"""Attributes: a dotted path at a module must be in that module's table; any other name must be one of those that the
libraries' value types have, or be defined by a class of the script."""

from __future__ import annotations

import ast
import keyword

from ..context import Context
from ..scopes import Kind, Place, Script
from ..tables import imports
from . import types

_DUNDER_HINTS = {
    "__name__": "write the name as text",
    "__class__": "use isinstance(x, T)",
    "__version__": "versions are in the result's record of the image",
    "__dict__": "write the names of the attributes",
    "__doc__": "write the text where it is needed",
    "__init__": "write super().__init__(...) or Base.__init__(self, ...)",
}
_DENIED_HINTS = {
    "format": 'use an f-string: f"{x:.2f}"',
    "format_map": 'use an f-string: f"{x:.2f}"',
    "wrapped": "use the methods of the shape itself",
}


def own_attributes(script: Script, context: Context) -> set[str]:
    """Names that the script's classes define: methods, class attributes, and what is set on their objects."""
    found: set[str] = set()
    for place in script.places:
        node = place.node
        if place.discarded:
            continue
        if isinstance(node, ast.Attribute):
            if isinstance(node.ctx, ast.Store) and context.own_object(node.value, place):
                found.add(node.attr)
        elif place.scope.kind is Kind.CLASS:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.add(node.name)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
    denied = context.rules.denied_attributes.keys() - context.rules.own_words.keys()
    # a word like `class` can only be an attribute by way of NFKC, inside an f-string
    return {name for name in found - denied if not name.startswith("__") and not keyword.iskeyword(name)}


def check(place: Place, context: Context) -> None:
    """Check the name of an attribute, whatever is done with it.

    Where a name came from excuses nothing. What is not judged again hangs on a name for which the script is refused
    already, or stands in a part that was thrown away and hangs on a name that is bound to nothing.
    """
    node = place.node
    if not isinstance(node, ast.Attribute):
        return
    if node.attr.startswith("__"):
        _dunder(node, place, context)
    elif context.was_said(node) or (place.discarded and context.imports.is_erased(context.link(node).root)):
        return
    elif context.rooted_in_module(node):
        _path(node, place, context)
    elif node.attr not in context.own:
        _listed(node, place, context)


def _path(node: ast.Attribute, place: Place, context: Context) -> None:
    """a.b.c from an alias of a module: every step is in a table until the first that is no module."""
    link = context.link(node.value)
    module = link.module
    if not module:
        if link.admitted:
            _listed(node, place, context)
        return
    dotted = f"{module}.{node.attr}"
    if dotted in context.rules.module_names:
        if not isinstance(place.parent_node, ast.Attribute):
            message = f"the module {dotted} may only be used as `{dotted}.name`"
            context.findings.deny("import.use", node, message, name=dotted, hint="name what you need from it")
    elif node.attr not in context.rules.module_names[module] and not (place.discarded and _writer(dotted)):
        hint = imports.NAME_HINTS.get(dotted) or context.nearest(node.attr, context.rules.module_names[module])
        message = f"`{node.attr}` is not a permitted name of {module}"
        context.findings.deny("attribute.module", node, message, name=dotted, hint=hint)
    else:
        types.check(node, dotted, place, context)


def _writer(dotted: str) -> bool:
    return dotted in ("cadquery.exporters", "cadquery.importers", "build123d.exporters", "build123d.exporters3d")


def _dunder(node: ast.Attribute, place: Place, context: Context) -> None:
    """`__init__` of a base class may be called; nothing else with two underscores is reached."""
    base = node.value
    upward = isinstance(base, ast.Call) and isinstance(base.func, ast.Name) and base.func.id == "super"
    called = isinstance(place.parent_node, ast.Call) and place.field == "func"
    if node.attr == "__init__" and called and (upward or context.own_class(base)) and isinstance(node.ctx, ast.Load):
        return
    hint = _DUNDER_HINTS.get(node.attr, "names with two underscores lead to the interpreter")
    message = f"`{node.attr}` starts with two underscores"
    context.findings.deny("attribute.dunder", node, message, name=node.attr, hint=hint)


def _listed(node: ast.Attribute, place: Place, context: Context) -> None:
    """Judge a name by the lists; that an unknown one is set is for the rule on stores to say."""
    name, rules, deny = node.attr, context.rules, context.findings.deny
    if name in rules.denied_attributes:
        hint = _DENIED_HINTS.get(name) or rules.denied_attributes[name]
        deny("attribute.denied", node, f"`.{name}` is refused: {rules.denied_attributes[name]}", name=name, hint=hint)
    elif name.startswith("_"):
        message = f"`.{name}` belongs to the library: no class of the script defines it"
        deny("attribute.private", node, message, name=name, hint="use the public methods")
    elif name not in rules.attributes and isinstance(node.ctx, ast.Load) and not place.discarded:
        hint = context.nearest(name, rules.attributes, context.own)
        message = f"`.{name}` is not a known attribute of the libraries' shapes and values"
        deny("attribute.unknown", node, message, name=name, hint=hint)
