"""Import statements: each is refused, erased, or replaced by a binding to a fixed object.

`import cadquery as cq` becomes `cq = __casemate_import__("cadquery")`: nothing is looked up on the live module, which
re-exports `os` and more. What the names mean (an alias of a module, a viewer's function, a writer) is kept for the
rules.
"""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass, field

from . import injected
from .rules import Rules
from .tables import calls, imports, viewers
from .verdict import Findings


@dataclass(slots=True)
class Imports:
    """What the script's import statements bind."""

    #: alias -> dotted module of the tables
    modules: dict[str, str] = field(default_factory=dict)
    #: name -> dotted name of the tables
    names: dict[str, str] = field(default_factory=dict)
    #: name -> dotted name of a viewer, a type, a writer or a reader; bound to nothing
    erased: dict[str, str] = field(default_factory=dict)
    #: names whose import was refused: what hangs on them is not judged again
    refused: set[str] = field(default_factory=set)
    #: modules that were imported with a star
    stars: set[str] = field(default_factory=set)
    #: erased modules that were imported with a star, whose names cannot be told
    erased_stars: set[str] = field(default_factory=set)
    #: where a name was first erased or made the alias of a module
    places: dict[str, ast.AST] = field(default_factory=dict)
    #: names that something else than an import binds
    bound: Counter[str] = field(default_factory=Counter)

    def dotted(self, node: ast.expr) -> str:
        """The dotted name that an expression a.b.c stands for, or an empty text if it is not rooted at an import."""
        tail: list[str] = []
        while isinstance(node, ast.Attribute):
            tail.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        root = self._root(node.id)
        return ".".join([root, *reversed(tail)]).replace(".occ_impl.exporters", ".exporters") if root else ""

    def _root(self, name: str) -> str:
        if name in self.modules:
            return self.modules[name]
        if name in self.bound:
            return ""
        if name in self.names or name in self.erased:
            return self.names.get(name) or self.erased[name]
        return next((f"{star}.{name}" for star in sorted(self.stars) if special(f"{star}.{name}")), "")

    def is_erased(self, node: ast.expr) -> bool:
        """True if the expression hangs on a name whose import was erased."""
        root = chain_root(node)
        return isinstance(root, ast.Name) and root.id in self.erased and root.id not in self.bound

    def is_viewer(self, node: ast.expr) -> bool:
        """True if it hangs on a viewer, a type, or an object of one: on anything erased but writers and readers."""
        root = chain_root(node)
        if not self.is_erased(node) or not isinstance(root, ast.Name):
            return False
        return not self.erased[root.id].startswith(_FILE_MODULES) and not special(self.erased[root.id])

    def erase(self, name: str, dotted: str, where: ast.AST) -> None:
        """Note that a name is bound to nothing."""
        self.erased[name] = dotted
        self.places.setdefault(name, where)


def chain_root(node: ast.expr) -> ast.expr:
    """What a chain of attributes, calls and subscripts begins with."""
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node


def erased_module(module: str) -> str:
    """What a module of the erased kinds is ("viewer", ...), or an empty text."""
    head = module
    while head:
        if head in viewers.ERASED_MODULES:
            return viewers.ERASED_MODULES[head]
        head = head.rpartition(".")[0]
    for table in (calls.EXPORT_MODULES, calls.INPUT_MODULES):
        if module in table:
            return table[module]
    return ""


def special(dotted: str) -> bool:
    """True for a name that only a call which is taken out or rewritten can use."""
    tables = (calls.EXPORT_FUNCTIONS, calls.EXPORT_CLASSES, calls.EXPORT_WORDS, calls.INPUT_FUNCTIONS)
    return any(dotted in table for table in tables)


_FILE_MODULES = (*calls.EXPORT_MODULES, *calls.INPUT_MODULES)


class Importer:
    """Reads the import statements of one script."""

    def __init__(self, rules: Rules, findings: Findings) -> None:
        self._rules = rules
        self._findings = findings
        self.imports = Imports()

    def replace(self, statement: ast.stmt) -> list[ast.stmt] | None:
        """The statements that stand for an import, or None if it is none."""
        if isinstance(statement, ast.Import):
            made = [self._module(statement, alias) for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom):
            made = self._from(statement)
        else:
            return None
        return [injected.placed(node, statement) for node in made if node is not None]

    def _module(self, statement: ast.stmt, alias: ast.alias) -> ast.stmt | None:
        dotted = alias.name
        name = alias.asname or dotted.partition(".")[0]
        kind = erased_module(dotted)
        if kind:
            self._erase(statement, dotted, kind)
            if alias.asname or "." not in dotted:
                self.imports.erase(name, dotted, statement)
            elif dotted.partition(".")[0] in self._rules.module_names:
                return self._bind(statement, name, name)
            else:
                self.imports.erase(name, name, statement)
            return None
        if dotted not in self._rules.module_names:
            self._refuse(alias, dotted, name)
            return None
        return self._bind(statement, name, dotted if alias.asname else name)

    def _bind(self, statement: ast.stmt, name: str, dotted: str) -> ast.stmt | None:
        known = self.imports.modules.setdefault(name, dotted)
        self.imports.places.setdefault(name, statement)
        if known != dotted:
            message = f"`{name}` is already the name of {known}"
            self._findings.deny("name.import", statement, message, name=name, hint="import it under another name")
            return None
        return injected.binding(name, injected.call(injected.IMPORT, ast.Constant(dotted)))

    def _from(self, statement: ast.ImportFrom) -> list[ast.stmt | None]:
        module = statement.module or ""
        if statement.level:
            self.imports.refused.update(alias.asname or alias.name for alias in statement.names)
            message = "a relative import has nothing to be relative to"
            self._findings.deny("import.relative", statement, message, name="." * statement.level + module)
            return []
        kind = erased_module(module)
        if kind:
            self._erase(statement, module, kind)
            for alias in statement.names:
                self._erased_name(module, alias)
            return []
        if module not in self._rules.module_names:
            self._refuse(statement, module, *(alias.asname or alias.name for alias in statement.names))
            return []
        if statement.names[0].name == "*":
            return [self._star(statement, module)]
        return [self._name(statement, module, alias) for alias in statement.names]

    def _erased_name(self, module: str, alias: ast.alias) -> None:
        dotted, name = f"{module}.{alias.name}".replace(".occ_impl.", "."), alias.asname or alias.name
        if alias.name == "*":
            self.imports.erased_stars.add(module)
        elif module in _FILE_MODULES and not special(dotted) and not erased_module(dotted):
            self.imports.refused.add(name)
            message = f"`{alias.name}` is not a permitted name of {module}"
            self._findings.deny("import.name", alias, message, name=dotted, hint=imports.NAME_HINTS.get(module, ""))
        else:
            self.imports.erase(name, dotted, alias)

    def _star(self, statement: ast.ImportFrom, module: str) -> ast.stmt | None:
        if module not in self._rules.stars:
            message = f"`from {module} import *` is refused"
            hint = f"import {module}, and write {module}.name"
            self._findings.deny("import.star", statement, message, name=module, hint=hint)
            return None
        self.imports.stars.add(module)
        return ast.Expr(value=injected.call(injected.STAR, ast.Constant(module)))

    def _name(self, statement: ast.stmt, module: str, alias: ast.alias) -> ast.stmt | None:
        dotted, name = f"{module}.{alias.name}", alias.asname or alias.name
        if dotted in self._rules.module_names:
            return self._bind(statement, name, dotted)
        kind = erased_module(dotted)
        if kind or special(dotted):
            self._erase(statement, dotted, kind or "used in calls that are taken out or rewritten")
            self.imports.erase(name, dotted, alias)
            return None
        if alias.name not in self._rules.module_names[module]:
            message = f"`{alias.name}` is not a permitted name of {module}"
            hint = imports.NAME_HINTS.get(dotted) or self._nearest(module, alias.name)
            self.imports.refused.add(name)
            self._findings.deny("import.name", alias, message, name=dotted, hint=hint)
            return None
        known = self.imports.names.setdefault(name, dotted)
        if known != dotted and (known in calls.TYPES_ONLY or dotted in calls.TYPES_ONLY):
            message = f"`{name}` is bound twice: to {known}, and to {dotted}"
            hint = "import it under another name"
            self._findings.deny("name.conflict", alias, message, name=name, hint=hint)
        self.imports.names[name] = dotted
        value = injected.call(injected.IMPORT, ast.Constant(module), ast.Constant(alias.name))
        return injected.binding(name, value)

    def _nearest(self, module: str, name: str) -> str:
        same = [known for known in self._rules.module_names[module] if known.lower() == name.lower()]
        return f"did you mean {same[0]}?" if same else ""

    def _refuse(self, node: ast.AST, dotted: str, *names: str) -> None:
        self.imports.refused.update(names)
        head = dotted.partition(".")[0]
        allowed = sorted({module.partition(".")[0] for module in self._rules.module_names})
        hint = imports.NAME_HINTS.get(dotted) or imports.HINTS.get(head) or f"permitted are {', '.join(allowed)}"
        message = f"the module `{dotted[:100]}` may not be imported"
        self._findings.deny("import.module", node, message, name=dotted, hint=hint)

    def _erase(self, statement: ast.stmt, dotted: str, kind: str) -> None:
        self._findings.note("import.erased", statement, f"the import of {dotted} was taken out ({kind})")
