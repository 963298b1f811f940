"""Edits generated from the code: each check, statement, flag or table entry taken out singly."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mutants.edits import Edit
from mutants.mutant import lines, source

Found = Iterator[tuple[str, Edit]]
"""A name for what was taken out, and the edit."""


def _functions(file: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Every function and method of a file, with its dotted name."""
    pending: list[tuple[str, ast.AST]] = [("", ast.parse(source(file)))]
    while pending:
        prefix, node = pending.pop(0)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                dotted = f"{prefix}{child.name}"
                if isinstance(child, ast.FunctionDef):
                    yield dotted, child
                pending.append((f"{dotted}.", child))
            elif isinstance(child, ast.stmt):
                pending.append((prefix, child))


def _own(function: ast.FunctionDef) -> Iterator[ast.stmt]:
    """The statements of a function, not of those inside it."""
    pending: list[ast.AST] = [*function.body]
    while pending:
        node = pending.pop(0)
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            continue
        if isinstance(node, ast.stmt):
            yield node
        pending += [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt | ast.ExceptHandler)]


def _called(node: ast.stmt) -> str:
    """The last name of what an expression statement calls."""
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return ""
    func = node.value.func
    return func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")


def _replaced(file: str, node: ast.stmt, new: str) -> Edit:
    assert node.end_lineno is not None
    return lines(file, node.lineno, node.end_lineno, f"{' ' * node.col_offset}{new}\n")


def _named(found: Iterator[tuple[str, Edit]]) -> Found:
    """With a number where a name comes again."""
    counts: dict[str, int] = {}
    for name, edit in found:
        counts[name] = counts.get(name, 0) + 1
        yield (f"{name} {counts[name]}" if counts[name] > 1 else name), edit


def _short(node: ast.AST) -> str:
    return ast.unparse(node).split("\n", 1)[0][:70]


def calls(file: str, *names: str) -> Found:
    """Each statement that calls one of `names` (require, deny, …), taken out."""
    return _named(
        (f"{dotted}: {_short(node)}", _replaced(file, node, "pass"))
        for dotted, function in _functions(file)
        for node in _own(function)
        if _called(node) in names
    )


def raising(file: str, *functions: str) -> Found:
    """Each `if …: raise …` whose condition is never true; of these functions, or of all."""
    return _named(
        (f"{dotted}: if {_short(node.test)}", _condition(file, node))
        for dotted, function in _functions(file)
        for node in _own(function)
        if isinstance(node, ast.If) and isinstance(node.body[-1], ast.Raise) and (not functions or dotted in functions)
    )


def _condition(file: str, node: ast.If) -> Edit:
    test, text = node.test, source(file).splitlines()
    first, last = text[test.lineno - 1], text[(test.end_lineno or 0) - 1]
    return lines(
        file, test.lineno, test.end_lineno or 0,
        _at(first, test.col_offset) + "False" + _at(last, test.end_col_offset or 0, after=True) + "\n",
    )  # fmt: skip


def _at(line: str, column: int, *, after: bool = False) -> str:
    """Columns of ast are of UTF-8."""
    data = line.encode()
    return (data[column:] if after else data[:column]).decode()


def statements(file: str, *functions: str) -> Found:
    """Each statement that is an expression, taken out of these functions."""
    return _named(
        (f"{dotted}: {_short(node)}", _replaced(file, node, "pass"))
        for dotted, function in _functions(file)
        for node in _own(function)
        if dotted in functions and isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    )


def flags(file: str, prefix: str) -> Found:
    """Each operand of `|` whose name begins with `prefix` (MS_, CLONE_, RESOLVE_, O_), taken out."""
    tree = ast.parse(source(file))
    where = {id(inner): name for name, function in _functions(file) for inner in ast.walk(function)}
    return _named(_flags(file, prefix, tree, where))


def _flags(file: str, prefix: str, tree: ast.AST, where: dict[int, str]) -> Iterator[tuple[str, Edit]]:
    text = source(file).splitlines()
    for node in ast.walk(tree):
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.BitOr):
            continue
        for gone, left in ((node.left, node.right), (node.right, node.left)):
            name = ast.unparse(gone).rpartition(".")[2]
            if not name.startswith(prefix) or isinstance(gone, ast.BinOp) or name == "O_RDONLY":  # which is 0
                continue
            first, last = text[node.lineno - 1], text[(node.end_lineno or 0) - 1]
            new = f"({ast.unparse(left)})"
            yield (
                f"{where.get(id(node), 'module')}: {name}",
                lines(
                    file, node.lineno, node.end_lineno or 0,
                    _at(first, node.col_offset) + new + _at(last, node.end_col_offset or 0, after=True) + "\n",
                ),
            )  # fmt: skip


def entries(file: str, table: str) -> Found:
    """Each entry of a dict or a tuple at the top of a file, taken out; one line each."""
    for node in ast.parse(source(file)).body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        if not any(isinstance(target, ast.Name) and target.id == table for target in targets):
            continue
        value = getattr(node, "value", None)
        keys = value.keys if isinstance(value, ast.Dict) else getattr(value, "elts", [])
        items = value.values if isinstance(value, ast.Dict) else keys
        for key, item in zip(keys, items, strict=True):
            yield f"{table}: {_short(key)}", lines(file, key.lineno, item.end_lineno or 0, "")
