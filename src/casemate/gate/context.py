"""Everything that a rule may ask about the script it looks at."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field

from .imports import Imports
from .rules import Rules
from .scopes import Kind, Place, Script
from .tables import limits
from .verdict import Findings


def last_name(node: ast.expr) -> str:
    """The name at the end of `a.b.name`, or an empty text if the expression ends in none."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


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
    _suggestions: int = 0
    _objects: dict[tuple[int, str], bool] = field(default_factory=dict)

    def module_of(self, node: ast.expr) -> str:
        """The dotted module of the tables that an expression stands for, or an empty text."""
        dotted = self.imports.dotted(node)
        return dotted if dotted in self.rules.module_names and self.rooted_in_module(node) else ""

    def rooted_in_module(self, node: ast.expr) -> bool:
        """True for a.b.c where a is an alias of a module."""
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and node.id in self.imports.modules

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
