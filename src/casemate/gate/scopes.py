"""Where every node stands: its parent, its scope, and what the names in that scope are bound to.

Python's own rules, made simple by what the gate refuses: no global, no nonlocal, no del, no walrus, no exec. So a name
that a function binds is local to it, and never falls through to the builtins.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from .parse import MARKS

_PARAMETERS = ("posonlyargs", "args", "vararg", "kwonlyargs", "kwarg")


class Kind(Enum):
    """What a scope belongs to. Lambdas and comprehensions are functions."""

    MODULE = "module"
    CLASS = "class"
    FUNCTION = "function"


@dataclass(slots=True, eq=False)
class Binding:
    """One place where a name is bound; `value` is what is assigned to it, if that can be told."""

    node: ast.AST
    #: the assignment, function or class that binds it whenever that statement is run
    statement: Place | None = None
    value: ast.expr | None = None


@dataclass(slots=True, eq=False)
class Scope:
    """One namespace."""

    kind: Kind
    node: ast.AST
    parent: Scope | None = None
    names: dict[str, list[Binding]] = field(default_factory=dict)
    #: for a method: the name of its first parameter, if nothing else binds that name
    receiver: str = ""

    def resolve(self, name: str) -> Scope | None:
        """The scope whose binding a load of the name reads, or None if there is none in sight."""
        if name in self.names:
            return self
        scope = self.parent
        while scope is not None:
            if scope.kind is not Kind.CLASS and name in scope.names:
                return scope
            scope = scope.parent
        return None


@dataclass(slots=True, eq=False)
class Place:
    """A node, what holds it and where it stands."""

    node: ast.AST
    parent: Place | None
    field: str
    scope: Scope
    index: int = -1
    discarded: bool = False
    """True in an expression that the gate throws away: nothing there is ever run."""

    @property
    def parent_node(self) -> ast.AST | None:
        """The node that holds this one."""
        return self.parent.node if self.parent is not None else None

    def follows(self, earlier: Place) -> bool:
        """True if this place is only ever run after a statement that stands before it in the same list."""
        place: Place | None = self
        while place is not None:
            if place.parent is earlier.parent and place.field == earlier.field and place.index > earlier.index:
                return True
            place = place.parent
        return False


def _value(place: Place) -> ast.expr | None:
    """What is assigned to a name, if it can be told: `name = value`, or its item in `a, b = 1, 2`."""
    parent = place.parent_node
    if isinstance(parent, ast.Assign):
        return parent.value
    assign = place.parent.parent_node if place.parent is not None else None
    if not isinstance(parent, ast.Tuple) or not isinstance(assign, ast.Assign):
        return None
    targets, value = parent.elts, assign.value
    if not isinstance(value, ast.Tuple) or len(value.elts) != len(targets):
        return None
    starred = any(isinstance(item, ast.Starred) for item in [*targets, *value.elts])
    return None if starred else value.elts[place.index]


class Script:
    """All places of a tree in the order of the text, its scopes and its classes."""

    def __init__(
        self,
        tree: ast.Module,
        discarded: Iterable[ast.expr],
        starred: Iterable[str] = (),
        others: Iterable[str] = (),
    ) -> None:
        """`starred` are names that a star import binds, `others` those that mean something without being bound."""
        self.module = Scope(Kind.MODULE, tree)
        self.places: list[Place] = []
        #: every name that the script binds anywhere
        self.bound: set[str] = set()
        #: where each name is loaded
        self.loads: dict[str, list[Place]] = {}
        #: names that stand for a class of the script and for nothing else
        self.classes: set[str] = set()
        #: scopes that belong to a part of a node: parameters to the function, the first iterable to what is around it
        self._inner: dict[int, Scope] = {}
        self._walk(Place(tree, None, "", self.module))
        for expression in discarded:
            self._walk(Place(expression, None, "", self.module, discarded=True))
        for name in starred:
            # a name that only the star binds is left to the rules, which know what it means
            if name in self.module.names:
                self.module.names[name].append(Binding(tree))
        self._settle()
        self.classes -= {*starred, *others}

    def _walk(self, root: Place) -> None:
        stack = [root]
        while stack:
            place = stack.pop()
            self.places.append(place)
            children = self._children(place)
            children.reverse()
            stack += children

    def _children(self, place: Place) -> list[Place]:
        """The nodes inside this one, each in its scope."""
        node, scope = place.node, place.scope
        self._bind(place)
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            inner = self._function(node, scope)
            self._inner[id(node.args)] = inner
            return self._fields(place, {"body": inner})
        if isinstance(node, ast.arguments):
            inner = self._inner.get(id(node), scope)
            return self._fields(place, dict.fromkeys(_PARAMETERS, inner))
        if isinstance(node, ast.ClassDef):
            return self._fields(place, {"body": Scope(Kind.CLASS, node, scope)})
        if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
            inner = Scope(Kind.FUNCTION, node, scope)
            self._inner[id(node.generators[0])] = scope
            return self._fields(place, dict.fromkeys(node._fields, inner))
        if isinstance(node, ast.comprehension):
            return self._fields(place, {"iter": self._inner.get(id(node), scope)})
        return self._fields(place, {})

    def _fields(self, place: Place, scopes: dict[str, Scope]) -> list[Place]:
        """Children, each in the scope that is given for its field or in the one of their parent."""
        made: list[Place] = []
        for name in place.node._fields:
            value = getattr(place.node, name, None)
            scope = scopes.get(name, place.scope)
            if value.__class__ is list:
                for index, item in enumerate(value):
                    if isinstance(item, ast.AST) and not isinstance(item, MARKS):
                        made.append(Place(item, place, name, scope, index, place.discarded))
            elif isinstance(value, ast.AST) and not isinstance(value, MARKS):
                made.append(Place(value, place, name, scope, -1, place.discarded))
        return made

    def _function(self, node: ast.FunctionDef | ast.Lambda, around: Scope) -> Scope:
        inner = Scope(Kind.FUNCTION, node, around)
        parts = node.args
        positional = [*parts.posonlyargs, *parts.args]
        every = [*positional, *parts.kwonlyargs, *(arg for arg in (parts.vararg, parts.kwarg) if arg is not None)]
        for arg in every:
            self._add(inner, arg.arg, Binding(arg))
        if positional and around.kind is Kind.CLASS and isinstance(node, ast.FunctionDef):
            inner.receiver = positional[0].arg
        return inner

    def _bind(self, place: Place) -> None:
        node = place.node
        name: str | None = None
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                name = node.id
            else:
                self.loads.setdefault(node.id, []).append(place)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.ExceptHandler):
            name = node.name
        if not name:
            return
        statement = place if isinstance(node, ast.stmt) else place.parent
        while statement is not None and isinstance(statement.node, ast.Tuple | ast.List | ast.Starred):
            statement = statement.parent
        if statement is not None and not isinstance(statement.node, ast.Assign | ast.FunctionDef | ast.ClassDef):
            statement = None
        self._add(place.scope, name, Binding(node, statement, _value(place)))

    def _add(self, scope: Scope, name: str, binding: Binding) -> None:
        self.bound.add(name)
        scope.names.setdefault(name, []).append(binding)

    def _settle(self) -> None:
        """What can only be said once every binding is known."""
        scopes = {id(place.scope): place.scope for place in self.places}
        defined: set[str] = set()
        others: set[str] = set()
        for scope in scopes.values():
            if scope.receiver and len(scope.names[scope.receiver]) > 1:
                scope.receiver = ""
            for name, bindings in scope.names.items():
                only = len(bindings) == 1 and isinstance(bindings[0].node, ast.ClassDef)
                (defined if only else others).add(name)
        self.classes = defined - others
