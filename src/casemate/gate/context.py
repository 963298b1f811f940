"""Everything that a rule may ask about the script it looks at."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field

from .imports import Imports
from .rules import Rules
from .scopes import Kind, Place, Scope, Script
from .tables import limits
from .verdict import Findings


def last_name(node: ast.expr) -> str:
    """The name at the end of `a.b.name`, or an empty text if the expression ends in none."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


@dataclass(frozen=True, slots=True)
class Link:
    """One expression as a part of a chain of attributes, calls and subscripts."""

    #: what the chain begins with
    root: ast.expr
    #: True for a.b.c where a is an alias of a module
    rooted: bool = False
    #: the dotted module of the tables that it stands for, if it stands for one
    module: str = ""
    #: False if the first step out of a module is in no table
    admitted: bool = True


@dataclass(slots=True)
class Context:
    """One check: the tables, the script, and where findings go."""

    rules: Rules
    script: Script
    imports: Imports
    findings: Findings
    #: attributes that the script's own classes define
    own: set[str] = field(default_factory=set)
    #: names of dicts -> whether they are only ever unpacked or read by key
    literals: dict[str, bool] = field(default_factory=dict)
    #: nodes of names that were refused: what hangs on them is not judged again
    said: set[int] = field(default_factory=set)
    #: dicts whose keys were checked, as arguments of print or not
    unpacked: set[tuple[int, bool]] = field(default_factory=set)
    #: name -> place -> whether the script's own value is read there
    certain: dict[str, dict[int, bool]] = field(default_factory=dict)
    #: name -> list of statements -> index of the first one in it that binds the name
    first: dict[str, dict[tuple[int, str], int]] = field(default_factory=dict)
    _suggestions: int = 0
    _refused: dict[tuple[int, str], bool] = field(default_factory=dict)
    _links: dict[int, Link] = field(default_factory=dict)
    _objects: dict[tuple[int, str], bool] = field(default_factory=dict)

    def link(self, node: ast.expr) -> Link:
        """What is known of an expression as a part of a chain; worked out once for each node."""
        below: list[ast.expr] = []
        while id(node) not in self._links and isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
            below.append(node)
            node = node.func if isinstance(node, ast.Call) else node.value
        link = self._links.get(id(node))
        if link is None:
            module = self.imports.modules.get(node.id, "") if isinstance(node, ast.Name) else ""
            link = self._links[id(node)] = Link(node, bool(module), module)
        for part in reversed(below):
            link = self._links[id(part)] = self._next(link, part)
        return link

    def _next(self, link: Link, node: ast.expr) -> Link:
        if not isinstance(node, ast.Attribute):
            return Link(link.root)
        if not link.module:
            return Link(link.root, link.rooted, "", link.admitted)
        dotted = f"{link.module}.{node.attr}"
        if dotted in self.rules.module_names:
            return Link(link.root, True, dotted)
        return Link(link.root, True, "", node.attr in self.rules.module_names[link.module])

    def rooted_in_module(self, node: ast.expr) -> bool:
        """True for a.b.c where a is an alias of a module."""
        return self.link(node).rooted

    def was_said(self, node: ast.expr) -> bool:
        """True if the script is refused for the very name that an expression hangs on."""
        return self.findings.denied and id(self.link(node).root) in self.said

    def imported_root(self, node: ast.expr, place: Place) -> str:
        """The imported name at the root of a chain of attributes and subscripts without a call, or an empty text."""
        while isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        name = node.id
        if name in self.imports.modules or name in self.imports.names or name in self.imports.erased:
            return name
        if place.scope.resolve(name) is None and self.starred(name):
            return name
        return ""

    def starred(self, name: str) -> bool:
        """True if a star import of the script binds the name."""
        return any(name in self.rules.module_names[module] for module in self.imports.stars)

    def own_class(self, node: ast.expr) -> bool:
        """True for a name that stands for a class of the script and for nothing else."""
        return isinstance(node, ast.Name) and node.id in self.script.classes and node.id not in self.imports.modules

    def own_object(self, node: ast.expr, place: Place) -> bool:
        """True for an object that can only be of a class of the script: self in a method, A(...), and the class A."""
        if self.own_class(node):
            return True
        if not isinstance(node, ast.Name):
            return False
        scope = place.scope.resolve(node.id)
        if scope is None:
            return False
        if scope.kind is Kind.FUNCTION and scope.receiver == node.id:
            return True
        key = (id(scope), node.id)
        if key not in self._objects:
            self._objects[key] = all(
                isinstance(binding.value, ast.Call) and self.own_class(binding.value.func)
                for binding in scope.names[node.id]
            )
        return self._objects[key]

    def from_refused(self, name: str, scope: Scope) -> bool:
        """True for a name that only holds what names of refused imports gave."""
        if not self.imports.refused:
            return False
        key = (id(scope), name)
        if key not in self._refused:
            self._refused[key] = all(
                binding.value is not None and self._hangs_on_refused(binding.value) for binding in scope.names[name]
            )
        return self._refused[key]

    def _hangs_on_refused(self, node: ast.expr) -> bool:
        root = self.link(node).root
        return isinstance(root, ast.Name) and root.id in self.imports.refused

    def nearest(self, name: str, *known: Iterable[str]) -> str:
        """A hint with the nearest known name; looks it up for the first few names of a script only."""
        if self._suggestions >= limits.SUGGESTIONS or len(name) > limits.NAME:
            return ""
        self._suggestions += 1
        plain = name.lower().replace("_", "")
        candidates = {other for table in known for other in table if abs(len(other) - len(name)) <= 3}
        same = sorted(other for other in candidates if other.lower().replace("_", "") == plain)
        near = same or difflib.get_close_matches(name, sorted(candidates), 1, 0.75)
        return f"did you mean {near[0]}?" if near else ""
