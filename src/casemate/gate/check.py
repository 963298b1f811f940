"""The gate: bytes in, an admitted tree or the reasons against it out.

Theory of operation. Five steps, each bounded and none recursive: decode (source.py), parse and measure (parse.py),
rewrite (imports.py, statements.py, expressions.py, formats.py), check every place against the tables (checks/), and
rename what is the script's own (own.py). The rules look at the tree *after* it was rewritten, so what is checked is
what will run; parts that the rewriting throws away are checked too. Last the tree is compiled once and the code is
dropped, so that a script which the compiler refuses (a return outside a function) is denied here, with its line.

It is a filter, not the boundary: with numpy and a kernel of C++ behind the permitted names no check inside the process
can be one. It is pure: no file, no clock, no state but the tables; it answers every input and raises on none.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Mapping
from types import MappingProxyType

from . import expressions, injected, own, parse, source, statements
from .checks import attributes, calls, classes, constants, names, nodes, stores
from .context import Context
from .imports import Importer, Imports
from .rules import Rules
from .scopes import Place, Script
from .verdict import Admitted, Denied, Findings

#: node class -> the rules that look at it, beside those for names and node classes, which look at all
_RULES: Mapping[type[ast.AST], tuple[Callable[[Place, Context], None], ...]] = MappingProxyType(
    {
        ast.ClassDef: (classes.check,),
        ast.ExceptHandler: (classes.check,),
        ast.withitem: (classes.check,),
        ast.Attribute: (attributes.check, stores.check),
        ast.Subscript: (stores.check,),
        ast.Call: (calls.check,),
    }
)


def check(source_bytes: bytes, rules: Rules, inputs: frozenset[str] = frozenset()) -> Admitted | Denied:
    """Judge a script. `inputs` are the names of the files that the job was given; never raises, on any bytes."""
    text, findings = source.decode(source_bytes)
    if text is None:
        return Denied(findings.denials)
    try:
        tree = _tree(text, rules, inputs, findings)
    except (RecursionError, MemoryError):
        findings.deny_at("limit.depth", 0, 0, "the script is too large or too deep to be checked")
        tree = None
    if tree is None or findings.denied:
        return Denied(findings.denials)
    return Admitted(tree, text, findings.notices)


def _tree(text: str, rules: Rules, inputs: frozenset[str], findings: Findings) -> ast.Module | None:
    tree = parse.parse(text, findings)
    if tree is None:
        return None
    imports, discarded = _rewrite(tree, rules, inputs, findings)
    starred = {name for star in imports.stars for name in rules.module_names[star]}
    script = Script(tree, discarded, starred, {*rules.builtins, *rules.injected})
    context = Context(rules, script, imports, findings)
    context.own = attributes.own_attributes(script, context)
    names.conflicts(context)
    for place in script.places:
        names.check(place, context)
    for place in context.script.places:
        nodes.check(place, context)
        for rule in _RULES.get(type(place.node), ()):
            rule(place, context)
    constants.Constants(context).check_all(context.script.places)
    if findings.denied:
        return None
    own.rename(tree, context)
    expressions.substitute(tree, _plain)
    _compile(tree, findings)
    return tree


def _rewrite(
    tree: ast.Module, rules: Rules, inputs: frozenset[str], findings: Findings
) -> tuple[Imports, list[ast.expr]]:
    bound = statements.bound_names(tree)
    importer = Importer(rules, findings)
    importer.imports.bound = bound
    for node, field, body in statements.statement_lists(tree):
        made: list[ast.stmt] = []
        for statement in body:
            replaced = importer.replace(statement)
            made += [statement] if replaced is None else replaced
        statements.set_body(node, field, body, made)
    rewriter = statements.Statements(tree, importer.imports, findings)
    rewriter.rewrite()
    expressions.Expressions(rules, importer.imports, inputs, findings).rewrite(tree)
    statements.unguard(tree)
    return importer.imports, rewriter.discarded


def _plain(node: ast.expr) -> ast.expr:
    """The gate's own names are plain names in the tree that it admits."""
    return ast.Name(id=node.id, ctx=node.ctx) if isinstance(node, injected.Injected) else node


def _compile(tree: ast.Module, findings: Findings) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(tree, "<script>", "exec", dont_inherit=True)
    except SyntaxError as error:
        parse.syntax(error, findings)
    except (ValueError, TypeError, OverflowError, SystemError) as error:
        findings.deny_at("source.syntax", 0, 0, f"the compiler refuses the script: {error}")
