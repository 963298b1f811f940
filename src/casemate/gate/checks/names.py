"""Names: what a script may call its own things, and which names it may use without defining them."""

from __future__ import annotations

import ast

from ..context import Context
from ..injected import STAR, Injected
from ..scopes import Binding, Kind, Place
from ..tables import calls, viewers
from . import types

_DUNDER_HINTS = {
    "__name__": 'only as `if __name__ == "__main__":`, which is taken as true',
    "__file__": "results are collected without paths",
    "__doc__": "write the text where it is needed",
    "__import__": "write an import statement",
    "__builtins__": "write the builtin itself",
}


def check(place: Place, context: Context) -> None:
    """Check every name that a node binds or loads."""
    node = place.node
    if isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Store):
            defined(node, node.id, context, imported=isinstance(node, Injected))
        elif not isinstance(node, Injected):
            _loaded(node, place, context)
        elif node.id == STAR and place.scope.kind is not Kind.MODULE:
            message = "a star import stands at the top of a script"
            context.findings.deny("import.star", node, message, name="*", hint="move it out of the function")
    elif isinstance(node, ast.FunctionDef):
        in_class = place.scope.kind is Kind.CLASS
        if not (in_class and node.name == "__init__"):
            defined(node, node.name, context)
    elif isinstance(node, ast.ClassDef):
        defined(node, node.name, context)
    elif isinstance(node, ast.arg):
        defined(node, node.arg, context)
    elif isinstance(node, ast.ExceptHandler) and node.name:
        defined(node, node.name, context)
    elif isinstance(node, ast.keyword) and node.arg:
        keyword(node, node.arg, context)


def defined(node: ast.AST, name: str, context: Context, *, imported: bool = False) -> None:
    """Check a name that the script gives to something."""
    deny = context.findings.deny
    if name.startswith("__"):
        deny("name.dunder", node, f"`{name}` starts with two underscores", name=name, hint="choose another name")
    elif name in context.rules.refused_builtins and name not in context.rules.shadowable_builtins:
        deny("name.builtin", node, f"`{name}` may not be given a new meaning", name=name, hint="choose another name")
    elif name == "super":
        deny("name.builtin", node, "`super` may not be given a new meaning", name=name, hint="choose another name")
    elif name in context.imports.modules and not imported:
        message = f"`{name}` is the name of an imported module"
        deny("name.import", node, message, name=name, hint="choose another name for the value")


def keyword(node: ast.AST, name: str, context: Context) -> None:
    """Check the name of a keyword argument."""
    if name.startswith("__"):
        message = f"`{name}` starts with two underscores"
        context.findings.deny("name.dunder", node, message, name=name, hint="leave the argument out")
    elif name.startswith("_") and name not in context.script.bound:
        message = f"`{name}` belongs to the library"
        context.findings.deny("name.private", node, message, name=name, hint="leave the argument out")


def _loaded(node: ast.Name, place: Place, context: Context) -> None:
    name, rules, deny = node.id, context.rules, context.findings.deny
    scope = place.scope.resolve(name)
    if scope is not None and context.from_refused(name, scope):
        context.said.add(id(node))  # what was made by a refused module is not judged again
    if name.startswith("__"):
        hint = _DUNDER_HINTS.get(name, "names with two underscores lead to the interpreter")
        deny("name.dunder", node, f"`{name}` starts with two underscores", name=name, hint=hint)
    elif name == "super":
        _super(node, place, context)
    elif name in context.imports.refused:
        context.said.add(id(node))  # said once, at the import
    elif name in context.imports.modules:
        _module(node, place, context)
    elif name in rules.refused_builtins:
        if scope is None or not _certain(place, name, context):
            reason = rules.refused_builtins[name]
            deny("name.builtin", node, f"`{name}` is not available", name=name, hint=reason)
    elif context.imports.names.get(name) in calls.TYPES_ONLY:
        types.check(node, context.imports.names[name], place, context)
    elif scope is not None or name in rules.builtins or name in rules.injected or context.starred(name):
        return
    elif context.imports.dotted(node):
        if not place.discarded:
            message = f"`{name}` came from an import that was taken out ({context.imports.dotted(node)})"
            deny("import.erased", node, message, name=name, hint="leave this out: it is not a part of the model")
            context.said.add(id(node))
    elif name.startswith("_"):
        deny("name.private", node, f"`{name}` is not defined by the script", name=name, hint="define it first")
    elif not (place.discarded and (name in context.script.bound or name in viewers.WORDS)):
        starred = (rules.module_names[star] for star in sorted(context.imports.stars))
        hint = context.nearest(name, context.script.bound, rules.builtins, rules.injected, *starred)
        hint = hint or "define it, or import it"
        deny("name.unknown", node, f"`{name}` is not defined", name=name, hint=hint)


def _module(node: ast.Name, place: Place, context: Context) -> None:
    """A module is used as `module.name` and in no other way."""
    if isinstance(place.parent_node, ast.Attribute):
        return
    module = context.imports.modules[node.id]
    message = f"the module {module} may only be used as `{node.id}.name`"
    context.findings.deny("import.use", node, message, name=node.id, hint="name what you need from it")


def _super(node: ast.Name, place: Place, context: Context) -> None:
    """`super()` without arguments, in a method, and only to reach an attribute."""
    call = place.parent
    holder = call.parent_node if call is not None else None
    scope = place.scope
    literal = (
        call is not None
        and isinstance(call.node, ast.Call)
        and place.field == "func"
        and not call.node.args
        and not call.node.keywords
        and isinstance(holder, ast.Attribute)
        and isinstance(holder.ctx, ast.Load)
    )
    method = scope.kind is Kind.FUNCTION and bool(scope.receiver)
    if not (literal and method):
        message = "`super` is only available as `super().name(...)` in a method"
        context.findings.deny("call.super", node, message, name="super", hint="write super().__init__(...)")


def _certain(place: Place, name: str, context: Context) -> bool:
    """True if a load can only read the script's own value, never the builtin that is hidden behind it.

    A function's names are local for the whole function. A module's names fall through to the builtins until they are
    bound, so a statement that binds the name must stand before the load, in the same list of statements or around it.
    """
    scope = place.scope.resolve(name)
    if scope is not None and scope.kind is Kind.FUNCTION:
        return True
    bindings = context.script.module.names.get(name, [])
    if name not in context.first:
        context.first[name] = _first(bindings)
    first, known = context.first[name], context.certain.setdefault(name, {})
    climbed: list[Place] = []
    at: Place | None = place
    while at is not None and id(at) not in known:
        climbed.append(at)
        at = at.parent
    found = at is not None and known[id(at)]
    for step in reversed(climbed):
        found = found or first.get((id(step.parent), step.field), step.index) < step.index
        known[id(step)] = found
    return found


def _first(bindings: list[Binding]) -> dict[tuple[int, str], int]:
    """List of statements -> index of the first one in it that binds the name for good."""
    first: dict[tuple[int, str], int] = {}
    if any(isinstance(binding.node, ast.ExceptHandler) for binding in bindings):
        return first
    for statement in (binding.statement for binding in bindings if binding.statement is not None):
        key = (id(statement.parent), statement.field)
        first[key] = min(first.get(key, statement.index), statement.index)
    return first


def conflicts(context: Context) -> None:
    """A name means one thing: not a module or nothing at all here, and something else there."""
    imports, rules = context.imports, context.rules
    for name, where in imports.places.items():
        erased = imports.erased.get(name, "")
        other = (
            (erased and imports.modules.get(name))
            or imports.names.get(name)
            or next((f"{star}.{name}" for star in sorted(imports.stars) if name in rules.module_names[star]), "")
            or ("a builtin" if name in rules.builtins else "")
            or ("a function of the viewer" if name in rules.injected and name in imports.modules else "")
        )
        if other:
            message = f"`{name}` is bound twice: to {erased or imports.modules[name]}, and to {other}"
            hint = "import it under another name"
            context.findings.deny("name.conflict", where, message, name=name, hint=hint)
