"""Statements that are rewritten before the check: a script's own exports, viewer calls, annotations, bare excepts.

A fifth of the scripts that models write end with an export of their own. Such a statement is taken out and its object
becomes a result; its other arguments are thrown away, but checked first like everything else.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from . import injected
from .imports import Imports
from .parse import children
from .tables import calls, viewers
from .verdict import Findings

_BODIES = ("body", "orelse", "finalbody")


def statement_lists(tree: ast.AST) -> Iterator[tuple[ast.AST, str, list[ast.stmt]]]:
    """Every list of statements with the node and field that hold it, outer ones first."""
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        for field in _BODIES:
            body = getattr(node, field, None)
            if isinstance(body, list):
                yield node, field, body
                stack += getattr(node, field)
        stack += getattr(node, "handlers", [])
        stack += getattr(node, "cases", [])


def set_body(node: ast.AST, field: str, old: list[ast.stmt], new: list[ast.stmt]) -> None:
    """Replace a list of statements; a body never becomes empty."""
    if old and not new and not isinstance(node, ast.Module):
        new = [injected.placed(ast.Expr(value=ast.Constant(None)), old[0])]
    setattr(node, field, new)


def unguard(tree: ast.Module) -> None:
    """Put the statements under a main guard in its place, so that the last one is the script's last one."""
    body: list[ast.stmt] = []
    for statement in tree.body:
        if isinstance(statement, ast.If) and not statement.orelse and _is_true(statement.test):
            body += statement.body
        else:
            body.append(statement)
    tree.body = body


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def bound_names(tree: ast.Module) -> Counter[str]:
    """How often each name is bound by anything but an import."""
    bound: Counter[str] = Counter()
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        stack += children(node)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound[node.id] += 1
        elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.ExceptHandler) and node.name:
            bound[node.name] += 1
        elif isinstance(node, ast.arg):
            bound[node.arg] += 1
    return bound


class Statements:
    """Rewrites the statements of one script; `discarded` holds the expressions that were thrown away."""

    def __init__(self, tree: ast.Module, imports: Imports, findings: Findings) -> None:
        self._tree = tree
        self._imports = imports
        self._findings = findings
        self._own_methods = {
            statement.name
            for node, _, body in statement_lists(tree)
            if isinstance(node, ast.ClassDef)
            for statement in body
            if isinstance(statement, ast.FunctionDef)
        }
        self.discarded: list[ast.expr] = []

    def rewrite(self) -> None:
        """Rewrite the tree in place."""
        self._erase_objects()
        for node, field, body in statement_lists(self._tree):
            set_body(node, field, body, [made for old in body for made in self._statement(old)])
            if isinstance(node, ast.ExceptHandler) and node.type is None:
                node.type = injected.placed(injected.load("Exception"), node)
                message = "a bare except was narrowed to `except Exception`"
                self._findings.note("except.narrowed", node, message)

    def _erase_objects(self) -> None:
        """Names that hold a viewer, a writer of drawings or a type: everything done with them is taken out."""
        made: dict[str, list[ast.stmt]] = {}
        for _, _, body in statement_lists(self._tree):
            for statement in body:
                if self._makes_erased(statement):
                    made.setdefault(_target(statement), []).append(statement)
        for name, found in made.items():
            if self._imports.bound[name] == len(found):
                del self._imports.bound[name]
                self._imports.erase(name, "object", found[0])

    def _makes_erased(self, statement: ast.stmt) -> bool:
        if not isinstance(statement, ast.Assign) or not _target(statement):
            return False
        value = statement.value
        if isinstance(value, ast.Call):
            if self._imports.dotted(value.func) in calls.EXPORT_CLASSES:
                return True
            return self._imports.is_viewer(value.func) and not self._becomes_call(value)
        return isinstance(value, ast.Attribute | ast.Subscript) and self._imports.is_viewer(value)

    def _statement(self, old: ast.stmt) -> list[ast.stmt]:
        if isinstance(old, ast.AnnAssign):
            self._annotation(old.annotation)
            if old.value is None:
                return []
            old = injected.placed(ast.Assign(targets=[old.target], value=old.value), old)
        if isinstance(old, ast.Assign | ast.Expr | ast.Return) and isinstance(old.value, ast.Call):
            made = self._becomes_call(old.value, rewrite=True)
            if made is not None:
                old.value = made
                return [old]
        if isinstance(old, ast.Expr) and self._sets_up_viewer(old.value):
            self._throw_chain_away(old.value)
            self._findings.note("viewer.erased", old, "a call that sets up a viewer or a drawing was taken out")
            return []
        if isinstance(old, ast.Assign) and self._makes_erased(old) and _target(old) not in self._imports.bound:
            self._throw_chain_away(old.value)
            return []
        if _target(old) in viewers.METADATA and isinstance(old, ast.Assign) and _written_out(old.value):
            self._findings.note("metadata.erased", old, f"the assignment of {_target(old)} was taken out")
            return []
        if isinstance(old, ast.FunctionDef):
            self._signature(old)
        elif isinstance(old, ast.ClassDef):
            self._root_class(old)
        return [old]

    def _sets_up_viewer(self, value: ast.expr) -> bool:
        if not isinstance(value, ast.Call):
            return False
        if self._imports.is_viewer(value.func):
            return True
        if not isinstance(value.func, ast.Name) or isinstance(value.func, injected.Injected):
            return False
        if value.func.id in self._imports.bound:
            return False
        name = value.func.id
        return name == "show_all" or (bool(self._imports.erased_stars) and name in viewers.WORDS)

    def _becomes_call(self, call: ast.Call, *, rewrite: bool = False) -> ast.Call | None:
        """The call that stands for an export or for a viewer's show; with rewrite, notes what was thrown away."""
        target = self._exported(call)
        if target is not None:
            if rewrite:
                self._throw_away(call, {id(target)})
                self._findings.note(
                    "export.recorded", call, "an export of the script's own was taken out; its object is a result"
                )
            return injected.placed(injected.call(injected.EXPORT, target), call)
        shown = self._shown(call)
        if not shown:
            return None
        keywords = [keyword for keyword in call.keywords if keyword.arg in viewers.RESULT_KEYWORDS]
        if rewrite:
            kept = {id(node) for node in call.args} | {id(keyword.value) for keyword in keywords}
            self._throw_away(call, kept)
        made = ast.Call(func=injected.load(shown), args=call.args, keywords=keywords)
        return injected.placed(made, call)

    def _exported(self, call: ast.Call) -> ast.expr | None:
        dotted = self._imports.dotted(call.func)
        if dotted in calls.EXPORT_FUNCTIONS:
            if call.args and not isinstance(call.args[0], ast.Starred):
                return call.args[0]
            wanted = calls.EXPORT_FUNCTIONS[dotted]
            return next((keyword.value for keyword in call.keywords if keyword.arg == wanted), None)
        if dotted or not isinstance(call.func, ast.Attribute) or call.func.attr not in calls.EXPORT_METHODS:
            return None
        named = call.args or call.keywords
        return call.func.value if named and call.func.attr not in self._own_methods else None

    def _shown(self, call: ast.Call) -> str:
        """The injected name that a call of a viewer becomes, or an empty text."""
        if self._imports.is_erased(call.func):
            word = self._imports.dotted(call.func).rpartition(".")[2]
        elif isinstance(call.func, ast.Name) and call.func.id not in self._imports.bound:
            word = call.func.id
            if word in self._imports.names or word in self._imports.modules:
                return ""
        else:
            return ""
        return viewers.RESULT_CALLS.get(word, "")

    def _throw_chain_away(self, node: ast.expr) -> None:
        """Throw away a chain of attributes and calls, and all arguments in it."""
        while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
            if isinstance(node, ast.Call):
                self._throw_away(node, set())
            node = node.func if isinstance(node, ast.Call) else node.value

    def _throw_away(self, call: ast.Call, kept: set[int]) -> None:
        for part in [*call.args, *(keyword.value for keyword in call.keywords)]:
            if id(part) not in kept:
                self._discard(part)

    def _discard(self, value: ast.expr) -> None:
        self.discarded.append(value)

    def _signature(self, function: ast.FunctionDef) -> None:
        parts = function.args
        for arg in [*parts.posonlyargs, *parts.args, *parts.kwonlyargs, parts.vararg, parts.kwarg]:
            if arg is not None and arg.annotation is not None:
                self._annotation(arg.annotation)
                arg.annotation = None
        if function.returns is not None:
            self._annotation(function.returns)
            function.returns = None

    def _annotation(self, annotation: ast.expr) -> None:
        """Annotations are erased; one that does more than name a type is refused all the same."""
        for node in ast.walk(annotation):
            if not isinstance(node, _TYPE_NODES):
                kind = type(node).__name__
                message = f"an annotation may only name types; {kind} is not a part of that"
                self._findings.deny("node.annotation", node, message, name=kind, hint="leave the annotation out")
                return
            name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
            if name.startswith("__"):
                message = f"`{name}` starts with two underscores"
                self._findings.deny("name.dunder", node, message, name=name, hint="leave the annotation out")

    def _root_class(self, definition: ast.ClassDef) -> None:
        """`class A(object)` is `class A`."""
        definition.bases = [
            base
            for base in definition.bases
            if not (isinstance(base, ast.Name) and base.id == "object" and "object" not in self._imports.bound)
        ]


_TYPE_NODES = (
    ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.Tuple, ast.List, ast.BinOp, ast.BitOr, ast.Load,
)  # fmt: skip


def _written_out(value: ast.expr) -> bool:
    """True for a constant, and for a list or tuple of constants."""
    items = value.elts if isinstance(value, ast.List | ast.Tuple) else [value]
    return all(isinstance(item, ast.Constant) for item in items)


def _target(statement: ast.stmt) -> str:
    """The one plain name that a statement assigns, or an empty text."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        if isinstance(target, ast.Name):
            return target.id
    return ""
